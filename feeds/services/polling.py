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
from common.text import one_line, shortened
from feeds.models import Feed
from feeds.querysets import FeedQuerySet
from feeds.rules.pace import first_pause, retry_at
from feeds.services.known import Recorded
from feeds.services.reading import GONE, Reading, ReadingFailed, read
from feeds.services.storing import PollCounts, prepare, store

log = logging.getLogger(__name__)

LEASE = timedelta(minutes=2)
AT_MOST_EVERY = timedelta(minutes=1)
LONGEST_BACKOFF = timedelta(hours=24)
MAX_ERROR = 1000
TAKEN_OVER = "The feed was changed, dropped or taken over by another worker meanwhile; nothing was stored."
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
    """Polls what is due, longest due first and each feed once, or what the budget allows.

    A command also takes feeds whose recheck is 0; `ignore_due` takes all that are watched.
    """
    results: list[PollResult] = []
    stop_at = time.monotonic() + budget.total_seconds() if budget is not None else None
    due = _candidates(clock(), ignore_due, by_command).order_by("next_poll_at", "pk")
    for pk in list(due.values_list("pk", flat=True)):
        if stop_at is not None and time.monotonic() >= stop_at:
            break
        now = clock()
        claimed = _claim(_candidates(now, ignore_due, by_command).filter(pk=pk), now)
        if claimed is not None:
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
    later = Feed.objects.watched().filter(pk__in=list(feed_ids), failures=0, next_poll_at__gt=now)
    # Asked first, as this is called every second: on SQLite even an UPDATE of nothing waits for the writer.
    if not later.exists():
        return 0
    with transaction.atomic():
        # In the order of their keys: two workers that hurry the same feeds do not wait for each other.
        pks = list(later.order_by("pk").select_for_update().values_list("pk", flat=True))
        return later.filter(pk__in=pks).update(next_poll_at=now)


def _candidates(now: datetime, ignore_due: bool, by_command: bool) -> FeedQuerySet:
    feeds = Feed.objects.watched().unleased(now)
    if ignore_due:
        return feeds
    due = Q(next_poll_at__lte=now)
    return feeds.filter(due | Q(recheck_every_minutes=0, failures=0) if by_command else due)


@transaction.atomic
def _claim(feeds: FeedQuerySet, now: datetime) -> Feed | None:
    feed = feeds.select_for_update(skip_locked=True).first()
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
        counts = _store(feed.pk, feed.lease_token, reading, moment, prepare(feed, reading, moment))
    except ReadingFailed as error:
        return _fail(feed.pk, feed.lease_token, error, moment)
    except Exception as error:
        log.exception("polling failed", extra={"feed": feed.pk})
        unforeseen = ReadingFailed(UNEXPECTED.format(type(error).__name__))
        return _fail(feed.pk, feed.lease_token, unforeseen, moment)
    if counts is None:
        return PollResult(feed.pk, ok=False, error=TAKEN_OVER)
    return PollResult(
        feed.pk,
        ok=True,
        new=counts.new,
        changed=counts.changed,
        vanished=counts.vanished,
        excluded=counts.excluded,
        final=counts.final,
    )


@transaction.atomic
def _store(
    feed_id: int, token: UUID, reading: Reading, moment: datetime, rows: Recorded | None
) -> PollCounts | None:
    feed = Feed.objects.select_for_update().filter(pk=feed_id, lease_token=token).first()
    if feed is None:
        return None
    counts = store(feed, reading, moment, rows)
    feed.first_polled_at = feed.first_polled_at or moment
    feed.last_polled_at = feed.fetched_through = moment
    feed.failures, feed.failing_since, feed.last_error = 0, None, ""
    feed.next_poll_at = moment + _interval(feed)
    feed.lease_token = feed.lease_until = None
    feed.save()
    return counts


@transaction.atomic
def _fail(feed_id: int, token: UUID, failure: ReadingFailed, now: datetime) -> PollResult:
    # What a server or library says may hold what PostgreSQL refuses, and this must not fail.
    error = shortened(one_line(str(failure)), MAX_ERROR)
    feed = Feed.objects.select_for_update().filter(pk=feed_id, lease_token=token).first()
    if feed is not None:
        feed.failures += 1
        feed.failing_since = feed.failing_since or now
        feed.last_polled_at, feed.last_error = now, error
        first = first_pause(failure.status, _interval(feed))
        pause = now + delay(feed.failures, first=first, limit=max(first, LONGEST_BACKOFF))
        feed.next_poll_at = max(pause, retry_at(failure.retry_after, now) or pause)
        if failure.status == GONE:
            feed.status = Feed.Status.STOPPED
        feed.lease_token = feed.lease_until = None
        feed.save()
    return PollResult(feed_id, ok=False, error=error)


def _interval(feed: Feed) -> timedelta:
    return max(timedelta(minutes=feed.recheck_every_minutes), AT_MOST_EVERY)
