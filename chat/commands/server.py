"""`/feed settings`."""

from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from chat.commands.contents import checked_zone
from chat.commands.context import Context, chosen_channel, undone_by
from chat.discord.messages import Message, Reply, channel_mention
from chat.models import Guild
from common.refused import Refused


def set_up_server(context: Context) -> Reply:
    typed, changes = context.asked.fields, dict[str, Any]()
    if typed.get("log_channel"):
        changes["log_channel"] = chosen_channel(context, "log_channel")
    if language := typed.get("language"):
        if language not in dict(settings.LANGUAGES):
            raise Refused(_("I don’t speak that language."))
        changes["language"] = language
    if zone := typed.get("zone"):
        changes["zone"] = checked_zone(zone)
    guild = context.guild
    if changes:
        Guild.objects.filter(pk=guild.pk).update(**changes)
        for name, value in changes.items():
            setattr(guild, name, value)
    names = dict(settings.LANGUAGES)
    lines = [
        _("Problems are reported in %(channel)s.") % {"channel": channel_mention(guild.log_channel)}
        if guild.log_channel
        else _(
            "Problems are reported in the feed’s channel. To choose another, use "
            "`/feed settings log_channel`."
        ),
        _("Language: %(language)s") % {"language": names.get(guild.language, guild.locale or "–")},
        _("Time zone: %(zone)s") % {"zone": guild.zone},
        _(
            "Anyone who can manage this server can use `/feed`. To let a role use it, "
            "open Server Settings, Integrations."
        ),
        *([undone_by("settings")] if changes else []),
    ]
    return Message("\n".join(lines))
