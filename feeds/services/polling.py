"""Polling: claim a due feed, fetch and parse without a transaction, plan and apply within one."""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from common.backoff import delay
from common.clock import utcnow
from common.http import SafeClient, client
from common.leases import lease
from feeds.models import Feed
from feeds.services.reading import Reading, ReadingFailed, read
from feeds.services.storing import PollCounts, store

log = logging.getLogger(__name__)

LEASE = timedelta(minutes=2)
AT_MOST_EVERY = timedelta(minutes=1)
LONGEST_BACKOFF = timedelta(hours=24)
UNEXPECTED = "Reading the feed failed in an unforeseen way ({}). It is tried again later."


@dataclass(frozen=True, slots=True)
class PollResult:
    """What one poll brought: counts of items, or the error."""

    feed_id: int
    ok: bool
    error: str = ""
    new: int = 0
    changed: int = 0
    vanished: int = 0
    excluded: int = 0
    final: int = 0


def poll_due(
    *,
    clock: Callable[[], datetime] = utcnow,
    ignore_due: bool = False,
    by_command: bool = False,
    budget: timedelta | None = None,
) -> list[PollResult]:
    """Polls what is due, each feed once, until nothing is or the budget is spent.

    A command also takes feeds whose recheck is 0; `ignore_due` takes all that are watched.
    """
    results: list[PollResult] = []
    seen: set[int] = set()
    stop_at = time.monotonic() + budget.total_seconds() if budget else None
    while stop_at is None or time.monotonic() < stop_at:
        now = clock()
        claimed = _claim(_candidates(now, ignore_due, by_command).exclude(pk__in=seen), now)
        if claimed is None:
            return results
        seen.add(claimed.pk)
        results.append(_poll(claimed, now, client()))
    return results


def poll_feed(*, feed_id: int, now: datetime, client: SafeClient | None = None) -> PollResult | None:
    """Polls this feed now. None when another worker is at it or the feed is not watched."""
    claimed = _claim(Feed.objects.watched().filter(pk=feed_id).unleased(now), now)
    return _poll(claimed, now, client or _default_client()) if claimed else None


def _default_client() -> SafeClient:
    return client()


def request_poll(*, feed_ids: Iterable[int], now: datetime) -> int:
    """Makes the feeds due at once, unless they are backing off from failures. Returns how many."""
    return (
        Feed.objects.watched()
        .filter(pk__in=list(feed_ids), failures=0, next_poll_at__gt=now)
        .update(next_poll_at=now)
    )


def _candidates(now: datetime, ignore_due: bool, by_command: bool) -> "FeedRows":
    feeds = Feed.objects.watched().unleased(now)
    if ignore_due:
        return feeds
    due = Q(next_poll_at__lte=now)
    return feeds.filter(due | Q(recheck_every_minutes=0, failures=0) if by_command else due)


FeedRows = type(Feed.objects.all())


@transaction.atomic
def _claim(feeds: "FeedRows", now: datetime) -> Feed | None:
    feed = feeds.select_for_update(skip_locked=True).order_by("next_poll_at", "pk").first()
    if feed is None:
        return None
    ours = lease(now, LEASE)
    feed.lease_token, feed.lease_until = ours.token, ours.until
    feed.save(update_fields=["lease_token", "lease_until"])
    return feed


def _poll(feed: Feed, moment: datetime, http: SafeClient) -> PollResult:
    """`moment` is the instant before the request: finality is judged by it and by no other clock."""
    assert feed.lease_token is not None  # noqa: S101 - just claimed
    try:
        reading = read(feed, http)
        counts = _store(feed.pk, feed.lease_token, reading, moment)
    except ReadingFailed as error:
        return _fail(feed.pk, feed.lease_token, str(error), moment)
    except Exception as error:
        log.exception("polling failed", extra={"feed": feed.pk})
        return _fail(feed.pk, feed.lease_token, UNEXPECTED.format(type(error).__name__), moment)
    if counts is None:
        return PollResult(feed.pk, ok=False, error="Another worker took this feed over meanwhile.")
    return PollResult(feed.pk, ok=True, **counts.as_dict())


@transaction.atomic
def _store(feed_id: int, token: UUID, reading: Reading, moment: datetime) -> PollCounts | None:
    feed = Feed.objects.select_for_update().filter(pk=feed_id, lease_token=token).first()
    if feed is None:
        return None
    counts = store(feed, reading, moment)
    feed.first_polled_at = feed.first_polled_at or moment
    feed.last_polled_at = feed.fetched_through = moment
    feed.failures, feed.failing_since, feed.last_error = 0, None, ""
    feed.next_poll_at = moment + max(timedelta(minutes=feed.recheck_every_minutes), AT_MOST_EVERY)
    feed.lease_token = feed.lease_until = None
    feed.save()
    return counts


@transaction.atomic
def _fail(feed_id: int, token: UUID, error: str, now: datetime) -> PollResult:
    feed = Feed.objects.select_for_update().filter(pk=feed_id, lease_token=token).first()
    if feed is not None:
        feed.failures += 1
        feed.failing_since = feed.failing_since or now
        feed.last_polled_at, feed.last_error = now, error
        first = max(timedelta(minutes=feed.recheck_every_minutes), AT_MOST_EVERY)
        feed.next_poll_at = now + delay(feed.failures, first=first, limit=LONGEST_BACKOFF)
        feed.lease_token = feed.lease_until = None
        feed.save()
    return PollResult(feed_id, ok=False, error=error)
