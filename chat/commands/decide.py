"""The buttons of notices: what becomes of posts that wait for a decision."""

from django.utils.translation import gettext as _

from chat.alerts.decisions import decide as decide_alert
from chat.commands.context import Context
from chat.discord.messages import Message, Result
from chat.models import ServerAlert


def send_newest(context: Context) -> Result:
    return _decided(context, ServerAlert.Decision.NEWEST)


def send_all(context: Context) -> Result:
    return _decided(context, ServerAlert.Decision.ALL)


def skip(context: Context) -> Result:
    return _decided(context, ServerAlert.Decision.SKIP)


def _decided(context: Context, decision: ServerAlert.Decision) -> Message:
    """The message itself says what was decided, so that nobody decides again."""
    was_new = decide_alert(
        alert_id=context.asked.number, guild_id=context.guild.pk, decision=decision, now=context.now
    )
    if not was_new:
        return Message(_("That was decided already."))
    who = f"<@{context.asked.user_id}>"
    match decision:
        case ServerAlert.Decision.NEWEST:
            said = _("%(who)s: the newest three are posted.")
        case ServerAlert.Decision.ALL:
            said = _("%(who)s: all of them are posted.")
        case _skip:
            said = _("%(who)s: none of them is posted.")
    return Message(said % {"who": who}, public=True)
