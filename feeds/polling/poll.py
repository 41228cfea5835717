from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from common.clock import utcnow
from common.net.client import SafeClient
from common.net.client import client as shared_client
from common.passes import TimeBudget
from feeds.models import Feed, Poll
from feeds.models.feed import FeedQuerySet
from feeds.polling.claims import asks, claim_feed, release_feeds
from feeds.polling.poll_pass import PollingPass
from feeds.polling.read import ReadingFailed, pushed, read
from feeds.polling.record import record_all, record_push


def poll_due(
    *,
    clock: Callable[[], datetime] = utcnow,
    ignore_due: bool = False,
    by_command: bool = False,
    budget: timedelta | None = None,
) -> list[Poll]:
    """Poll due feeds, longest due first, as the budget allows.

    A command includes feeds with recheck 0; `ignore_due` all that are watched.
    """

    def candidates(now: datetime, also: Collection[int] = ()) -> FeedQuerySet:
        feeds = Feed.objects.watched().unleased(now)
        if ignore_due:
            return feeds
        due = Q(next_poll_at__lte=now)
        if by_command:
            due |= Q(recheck_every_minutes=0, failures=0)
        return feeds.filter(due | Q(pk__in=also) if also else due)

    return PollingPass(
        candidates, clock=clock, http=shared_client(), budget=TimeBudget(budget), heed_rests=not ignore_due
    ).run()


def poll_feed(*, feed_id: int, now: datetime, client: SafeClient | None = None) -> Poll | None:
    feed = claim_feed(Feed.objects.watched().filter(pk=feed_id).unleased(now), now)
    if feed is None:
        return None
    (ask,) = asks([feed])
    return record_all([(feed, read(ask, client or shared_client(), lambda: now)[feed.pk])])[0]


def push_feed(
    *, feed_id: int, body: bytes, headers: Mapping[str, str], moment: datetime, now: datetime
) -> Poll | None:
    feed = claim_feed(Feed.objects.watched().filter(pk=feed_id).unleased(now), now)
    if feed is None:
        return None
    try:
        return record_push(feed, pushed(feed.url, body, headers, moment))
    except ReadingFailed as error:
        return Poll(feed=feed, outcome=Poll.Outcome.FAILED, note=str(error))
    finally:
        if feed.lease_token:
            release_feeds(token=feed.lease_token, feeds=[feed_id])


def request_poll(*, feed_ids: Iterable[int], now: datetime) -> int:
    """Make feeds due unless they are backing off. Returns how many."""
    later = Feed.objects.later(now).filter(pk__in=list(feed_ids))
    # Runs every second; on SQLite even an empty UPDATE waits for the writer.
    if not later.exists():
        return 0
    with transaction.atomic():
        # Ordered to avoid deadlocks.
        pks = list(later.order_by("pk").select_for_update().values_list("pk", flat=True))
        return later.filter(pk__in=pks).update(next_poll_at=now, next_poll_why="hurry")
