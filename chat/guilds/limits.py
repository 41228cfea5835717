"""How often people may ask: counted by the interactions that are kept anyway."""

from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from chat.models import Interaction
from common.refused import Refused

COMMANDS_A_MINUTE = 20
# Of a server, in an hour.
HOURLY = {"add": 10, "preview": 30, "test": 5}


def refuse_many_addresses(*, guild_id: int, now: datetime) -> None:
    """Raise Refused where a server has had as many addresses looked up by `/feed edit` as it may add feeds.

    Other edits are answered without a worker's attempt.
    """
    recent = Interaction.objects.since(now - timedelta(hours=1)).filter(guild_id=guild_id, act="edit")
    if recent.filter(attempts__gt=0).count() >= HOURLY["add"]:
        raise Refused(_beyond(HOURLY["add"]))


def _beyond(count: int) -> str:
    said = _("This server may do that %(count)s times an hour. Try again later.")
    return said % {"count": count}


def refuse_haste(*, user_id: int, now: datetime) -> None:
    """Raises Refused for whoever asks too often. The interaction itself counts."""
    recent = Interaction.objects.since(now - timedelta(minutes=1)).filter(user_id=user_id)
    if recent.count() > COMMANDS_A_MINUTE:
        raise Refused(_("That was a lot within a minute. Wait a moment, please."))


def refuse_beyond_hourly(*, guild_id: int, act: str, now: datetime) -> None:
    """Raises Refused where a server has done that too often in an hour."""
    if act not in HOURLY:
        return
    recent = Interaction.objects.since(now - timedelta(hours=1)).filter(guild_id=guild_id, act=act)
    if recent.count() > HOURLY[act]:
        raise Refused(_beyond(HOURLY[act]))
