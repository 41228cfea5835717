"""`/feed settings`."""

from datetime import time
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils.translation import gettext as _

from chat.commands.context import Context, chosen_channel, feed_buttons, undone_by
from chat.commands.feeds import named
from chat.discord.messages import Form, Input, Message, Reply, channel_mention, shown_title
from chat.guilds.filters import set_words, words_of
from chat.models import Guild
from chat.rules.parse import Pressed
from common.formats.dates import clock
from common.refused import Refused
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import alter_subscribable
from subscriptions.rules.post_rules import typed_words

EACH, DAILY, WEEKLY = "each", "daily", "weekly"


def filter_form(context: Context) -> Reply:
    one = context.feed
    words = words_of(one)
    hint = _('Words, "phrases in quotes", or photo* for words that start with it')
    inputs = (
        Input(
            "keep", _("Post only posts with one of these"), typed_words(words["keep"]), hint, many_lines=True
        ),
        Input("drop", _("Skip posts with one of these"), typed_words(words["drop"]), hint, many_lines=True),
    )
    return Form(Pressed("filter", one.number), _("Filter"), inputs)


def save_filter(context: Context) -> Reply:
    one, typed = context.feed, context.asked.fields
    words = set_words(one, keep=typed.get("keep", ""), drop=typed.get("drop", ""))
    sentences = {
        "keep": _("%(feed)s only posts what contains one of: %(words)s"),
        "drop": _("%(feed)s skips posts that contain one of: %(words)s"),
    }
    lines = [
        sentence % {"feed": named(one), "words": shown_title(typed_words(words[name]), 500)}
        for name, sentence in sentences.items()
        if words[name]
    ] or [_("%(feed)s posts everything.") % {"feed": named(one)}]
    return Message("\n".join([*lines, undone_by("filter", one)]), [feed_buttons(one)])


def digest(context: Context) -> Reply:
    one, typed = context.feed, context.asked.fields
    when = typed.get("when", EACH)
    if when == EACH:
        alter_subscribable(
            subscribable=one.subscribable,
            arrangement=Subscribable.Arrangement.EACH,
            visibility=Subscribable.Visibility.PRIVATE,
        )
        said = _("%(feed)s posts each post as it’s published.") % {"feed": named(one)}
        return Message(f"{said} {undone_by('digest', one)}", [feed_buttons(one)])
    hour = typed.get("hour", "8")
    if not hour.isascii() or not hour.isdecimal() or int(hour) > 23:
        raise Refused(_("The hour must be a number from 0 to 23."))
    zone = checked_zone(typed.get("zone", "") or context.guild.zone)
    day: dict[str, Any] = {"weekday": Subscribable.Weekday.MONDAY} if when == WEEKLY else {}
    # The digest's page has all posts.
    alter_subscribable(
        subscribable=one.subscribable,
        arrangement=WEEKLY if when == WEEKLY else DAILY,
        at=time(int(hour)),
        time_zone=zone,
        visibility=Subscribable.Visibility.UNLISTED,
        **day,
    )
    said = (
        _("%(feed)s posts a digest each Monday at %(time)s (%(zone)s).")
        if when == WEEKLY
        else _("%(feed)s posts a digest each day at %(time)s (%(zone)s).")
    )
    said = said % {"feed": named(one), "time": clock(time(int(hour))), "zone": zone}
    return Message(f"{said} {undone_by('digest when:each', one)}", [feed_buttons(one)])


def checked_zone(typed: str) -> str:
    try:
        return ZoneInfo(typed.strip()).key
    except (ValueError, OSError, LookupError):
        raise Refused(_("Unknown time zone. Use a name like Europe/Berlin.")) from None


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
