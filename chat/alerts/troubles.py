"""Each trouble is reported once, at most three a day."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q

from chat.alerts.decisions import HELD
from chat.discord.api import KIND
from chat.guilds.limits import waiting_for_midnight
from chat.models import GuildFeed, ServerAlert
from delivery.models import Lane
from feeds.models import Feed, Item
from subscriptions.models import Subscription

FAILS_FOR = timedelta(days=1)
LATELY = timedelta(days=1)
MOST_A_DAY = 3
FAILING, GONE, REFUSED, QUOTA = "failing", "gone", "refused", "quota"
STAMP = "%Y%m%dT%H%M%S"


def note_troubles(*, now: datetime) -> int:
    alerts = list(_troubles(now))
    known = set(ServerAlert.objects.filter(key__in=[one.key for one in alerts]).values_list("key", flat=True))
    lately = (
        ServerAlert.objects.filter(created_at__gt=now - LATELY).values_list("guild").annotate(n=Count("pk"))
    )
    counts: dict[int, int] = dict(lately)
    new = []
    for one in alerts:
        if one.key in known:
            continue
        is_many = counts.get(one.guild_id, 0) >= MOST_A_DAY
        # Held posts need a decision; quotas are no trouble.
        if is_many and one.trouble not in (HELD, QUOTA):
            continue
        counts[one.guild_id] = counts.get(one.guild_id, 0) + 1
        new.append(one)
    return len(ServerAlert.objects.bulk_create(new, ignore_conflicts=True))


def _troubles(now: datetime) -> Iterator[ServerAlert]:
    present = GuildFeed.objects.present().select_related("feed", "subscribable")
    shared = Q(feed__bot_feed__is_operators=False)
    for one in present.filter(shared, feed__held_since__isnull=False):
        count = Item.objects.held().filter(feed=one.feed_id).count()
        yield _alert(one, HELD, one.feed.held_since, now, count=count)
    for one in present.filter(rests_until__gt=now):
        if count := waiting_for_midnight(one):
            yield _alert(one, QUOTA, one.rests_until, now, count=count)
    failing = Q(
        feed__status=Feed.Status.ACTIVE, feed__failures__gt=0, feed__failing_since__lte=now - FAILS_FOR
    )
    for one in present.filter(failing):
        yield _alert(one, FAILING, one.feed.failing_since, now, said=one.feed.last_error[:300])
    for one in present.filter(feed__status=Feed.Status.STOPPED, feed__failures__gt=0):
        yield _alert(one, GONE, one.feed.failing_since, now, said=one.feed.last_error[:300])
    subscribed = Subscription.objects.filter(
        destination__kind=KIND,
        status=Subscription.Status.CONFIRMED,
        ended_at=None,
        subscribable__guild_feed__removed_at=None,
        subscribable__guild_feed__isnull=False,
    )
    related = ("destination", "subscribable__guild_feed")
    for row in subscribed.filter(destination__disabled_at__isnull=False).select_related(*related):
        to = row.destination
        yield _alert(row.subscribable.guild_feed, REFUSED, to.disabled_at, now, said=to.disabled_reason[:300])
    # A lane is named after its destination.
    lanes = {lane.account: lane for lane in Lane.objects.filter(kind=KIND, refused_since__isnull=False)}
    waiting = subscribed.filter(destination__disabled_at=None, destination__core__in=lanes)
    for row in waiting.select_related(*related):
        lane = lanes[row.destination.core]
        feed = row.subscribable.guild_feed
        yield _alert(feed, REFUSED, lane.refused_since, now, said=lane.last_error[:300], waits=True)


def _alert(
    one: GuildFeed, trouble: str, since: datetime | None, now: datetime, **context: Any
) -> ServerAlert:
    stamp = f"{since:{STAMP}}" if since else "-"
    return ServerAlert(
        guild_id=one.guild_id,
        guild_feed=one,
        trouble=trouble,
        key=f"{trouble}-{one.pk}-{stamp}",
        context=context,
        created_at=now,
        next_try_at=now,
    )
