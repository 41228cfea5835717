"""How often feeds may post, and people may ask."""

from datetime import datetime, time, timedelta

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chat.guilds.servers import bot_settings, zone_of
from chat.models import GuildFeed
from common.rates import HOUR, Limit, count_rows_within
from common.refused import Refused
from delivery.issues.pause import pause_newsletter, resume_newsletter
from delivery.models import Delivery
from delivery.models.delivery import WAITING

A_DAY = timedelta(days=1)
REASON = "It has reached the daily maximum of posts for a feed of a Discord server."
COMMANDS = Limit("chat commands", 20)
# Of a server. Other edits are answered without asking anybody.
NEW_ADDRESS = "new address"
HOURLY = {
    act: Limit(f"chat {act}", most, HOUR)
    for act, most in {"add": 10, NEW_ADDRESS: 10, "preview": 30, "test": 5}.items()
}


def keep_quotas(*, now: datetime) -> int:
    """Pause feeds that reached the daily limit; resume after midnight."""
    for one in GuildFeed.objects.filter(rests_until__lte=now):
        resume_newsletter(subscribable_id=one.subscribable_id, now=now)
        GuildFeed.objects.filter(pk=one.pk, rests_until__lte=now).update(rests_until=None)
    most, rest = bot_settings().posts_a_day, 0
    lately = _posted(now - A_DAY).values("issue__subscribable").annotate(n=Count("pk")).filter(n__gte=most)
    busy = [row["issue__subscribable"] for row in lately]
    rows = GuildFeed.objects.present().filter(subscribable__in=busy, rests_until=None)
    for one in rows.select_related("guild"):
        zone = zone_of(one.guild)
        today = now.astimezone(zone).date()
        midnight, next_midnight = (datetime.combine(day, time(), zone) for day in (today, today + A_DAY))
        if _posted(midnight).filter(issue__subscribable=one.subscribable_id).count() >= most:
            pause_newsletter(subscribable_id=one.subscribable_id, reason=REASON, now=now)
            GuildFeed.objects.filter(pk=one.pk, rests_until=None).update(rests_until=next_midnight)
            rest += 1
    return rest


def waiting_for_midnight(one: GuildFeed) -> int:
    is_paused = Q(state=Delivery.State.HELD, held_for=Delivery.HeldFor.PAUSE)
    rows = Delivery.objects.filter(issue__subscribable=one.subscribable_id)
    return rows.filter(is_paused | Q(state__in=WAITING)).count()


def _posted(since: datetime) -> "QuerySet[Delivery]":
    return Delivery.objects.filter(
        kind=Delivery.Kind.ISSUE,
        state=Delivery.State.SENT,
        sent_at__gte=since,
        issue__subscribable__guild_feed__removed_at=None,
        issue__subscribable__guild_feed__isnull=False,
    ).order_by()


def refuse_haste(*, user_id: int, now: datetime) -> None:
    """Raises Refused."""
    if not count_rows_within((COMMANDS, str(user_id)), now=now):
        raise Refused(_("Too many commands in a minute. Please wait a moment."))


def refuse_beyond_hourly(*, guild_id: int, act: str, now: datetime) -> None:
    """Raises Refused."""
    limit = HOURLY.get(act)
    if limit and not count_rows_within((limit, str(guild_id)), now=now):
        said = ngettext(
            "This server can do that %(count)s time an hour. Try again later.",
            "This server can do that %(count)s times an hour. Try again later.",
            limit.most,
        )
        raise Refused(said % {"count": limit.most})
