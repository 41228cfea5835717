"""What an answer meant, written down: the items, the feed and its next reading, a line of its timeline."""

import logging
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from common.backoff import delay
from common.bulk import update_rows
from common.redirects import keeps_secrets
from common.text import one_line, shortened
from feeds.models import Feed, FeedDocument, Item, Poll
from feeds.rules.interval import Next, next_poll
from feeds.rules.moving import counted, is_believed, permanent_target
from feeds.rules.pace import first_pause, retry_at
from feeds.services.adding import host_of_url, is_address
from feeds.services.credentials import split_address
from feeds.services.hub_watching import is_live, live_among, noticed_by_poll
from feeds.services.pacing import pacing_of, signs_of
from feeds.services.reading import GONE, Answer, Kept, Reading, ReadingFailed, reading_of, unforeseen
from feeds.services.storing import PollCounts, prepare, store

log = logging.getLogger(__name__)

LONGEST_BACKOFF = timedelta(hours=24)
MAX_ERROR = 1000
TAKEN_OVER = "The feed was changed, dropped or taken over by another worker meanwhile; nothing was stored."
MOVED = "Its address is {} now: the server has redirected there for good at {} readings."


@dataclass(frozen=True, slots=True)
class PollResult:
    """What one poll brought: counts of items, or the error."""

    feed_id: int
    ok: bool
    error: str = ""
    new: int = 0
    changed: int = 0
    vanished: int = 0
    held: int = 0
    excluded: int = 0
    final: int = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """A claimed feed, what was kept of it, and the answer."""

    feed: Feed
    kept: Kept | None
    answer: Answer

    @property
    def is_quiet(self) -> bool:
        """A 304 or the same bytes again: nothing to plan but the settling of what waits."""
        return self.answer.failure is None and self.answer.parsed is None


def record_all(every: Sequence[Answered]) -> list[PollResult]:
    """Writes them down: quiet ones together, others each in a transaction of its own."""
    quiet = [one for one in every if one.is_quiet]
    results = {result.feed_id: result for result in _together(quiet)}
    return [results.get(one.feed.pk) or record(one) for one in every]


def record(one: Answered) -> PollResult:
    """One answer, in one transaction. A failure is written down on the feed."""
    feed, moment = one.feed, one.answer.moment
    assert feed.lease_token is not None  # noqa: S101 - claimed
    try:
        reading = reading_of(one.kept, one.answer)
        rows = prepare(feed, reading, moment)
        with transaction.atomic():
            locked = _locked(feed.pk, feed.lease_token)
            if locked is None:
                return PollResult(feed.pk, ok=False, error=TAKEN_OVER)
            counts = store(locked, reading, moment, rows)
            waits = Item.objects.settling().filter(feed=locked).exists()
            live = is_live(feed_id=feed.pk, now=moment)
            poll = _read(locked, reading, counts, settling=waits, hub_is_live=live, moment=moment)
            if live and counts.new:
                noticed_by_poll(feed_id=feed.pk, moment=moment)
            locked.save()
            poll.save(force_insert=True)
            return _result(locked.pk, counts)
    except ReadingFailed as error:
        return record_failure(feed, error, one.answer)
    except Exception as error:
        log.exception("polling failed", extra={"feed": feed.pk})
        return record_failure(feed, unforeseen(error), one.answer)


def _together(every: Sequence[Answered]) -> list[PollResult]:
    """Quiet answers in one transaction; [] when that fails, for then each is recorded alone."""
    if len(every) < 2:
        return []
    try:
        with transaction.atomic():
            return _record_quiet(every)
    except Exception:
        log.exception("recording quiet polls together failed; each is recorded alone")
        return []


def _record_quiet(every: Sequence[Answered]) -> list[PollResult]:
    tokens = {one.feed.lease_token for one in every}
    rows = Feed.objects.filter(pk__in=[one.feed.pk for one in every], lease_token__in=tokens).order_by("pk")
    feeds = {feed.pk: feed for feed in rows.select_for_update()}
    waiting = set(
        Item.objects.unassigned().filter(feed__in=feeds).order_by().values_list("feed_id", flat=True)
    )
    live = live_among(feed_ids=feeds, now=every[0].answer.moment)
    results, polls = [], []
    for one in every:
        feed = feeds.get(one.feed.pk)
        if feed is None:
            results.append(PollResult(one.feed.pk, ok=False, error=TAKEN_OVER))
            continue
        counts, poll = _quiet(feed, one, waits=feed.pk in waiting, hub_is_live=feed.pk in live)
        polls.append(poll)
        results.append(_result(feed.pk, counts))
    update_rows(list(feeds.values()), READ_FIELDS)
    Poll.objects.bulk_create(polls)
    return results


def _quiet(feed: Feed, one: Answered, *, waits: bool, hub_is_live: bool) -> tuple[PollCounts, Poll]:
    """The feed's row is left unsaved. Without waiting items nothing is asked about them."""
    reading, moment = reading_of(one.kept, one.answer), one.answer.moment
    counts = PollCounts()
    if waits:
        counts = store(feed, reading, moment)
        waits = Item.objects.settling().filter(feed=feed).exists()
    elif one.kept is not None and reading.headers != one.kept.headers:
        FeedDocument.objects.filter(feed=feed).update(headers=reading.headers)
    return counts, _read(feed, reading, counts, settling=waits, hub_is_live=hub_is_live, moment=moment)


READ_FIELDS = (
    "url",
    "host",
    "first_polled_at",
    "last_polled_at",
    "fetched_through",
    "hold_next",
    "failures",
    "failing_since",
    "last_error",
    "moved_to",
    "moved_polls",
    "next_poll_at",
    "next_poll_why",
    "lease_token",
    "lease_until",
)


def _locked(feed_id: int, token: UUID) -> Feed | None:
    return Feed.objects.select_for_update().filter(pk=feed_id, lease_token=token).first()


def _read(
    feed: Feed, reading: Reading, counts: PollCounts, *, settling: bool, hub_is_live: bool, moment: datetime
) -> Poll:
    """Brings the feed's row up to date after a reading, unsaved, and returns the line of its timeline."""
    note = _follow(feed, reading)
    feed.first_polled_at = feed.first_polled_at or moment
    feed.last_polled_at = feed.fetched_through = moment
    # All that is in the document is known now: what comes later is new.
    feed.hold_next = False
    feed.failures, feed.failing_since, feed.last_error = 0, None, ""
    signs = signs_of(feed, reading, moment, settling=settling, hub_is_live=hub_is_live)
    _schedule(feed, next_poll(pacing_of(feed), signs, moment, chance=_chance()))
    return _line(feed, reading, counts, moment, note)


def _line(feed: Feed, reading: Reading, counts: PollCounts, moment: datetime, note: str = "") -> Poll:
    """A line of the timeline, unsaved."""
    fetched = reading.fetched
    return Poll(
        feed=feed,
        at=moment,
        origin=Poll.Origin.PUSH if reading.partial else Poll.Origin.POLL,
        outcome=Poll.Outcome.UNCHANGED if reading.unchanged else Poll.Outcome.READ,
        status=fetched.status if fetched else None,
        bytes=len(reading.body),
        duration_ms=round(reading.seconds * 1000),
        new=counts.new,
        changed=counts.changed,
        vanished=counts.vanished,
        held=counts.held,
        excluded=counts.excluded,
        final=counts.final,
        note=note,
        next_poll_at=feed.next_poll_at,
        next_poll_why=feed.next_poll_why,
    )


def record_push(feed: Feed, reading: Reading, moment: datetime) -> PollResult:
    """What a hub pushed goes the way of a reading, but tells nothing of what it does not hold.

    Neither when the feed was last read in full nor what it failed with changes by it.
    """
    assert feed.lease_token is not None  # noqa: S101 - claimed
    rows = prepare(feed, reading, moment)
    with transaction.atomic():
        locked = _locked(feed.pk, feed.lease_token)
        if locked is None:
            return PollResult(feed.pk, ok=False, error=TAKEN_OVER)
        counts = store(locked, reading, moment, rows)
        soon = Next(moment if counts.deferred else moment + pacing_of(locked).floor, "push")
        if soon.at < locked.next_poll_at and not locked.failures:
            _schedule(locked, soon)
        locked.lease_token = locked.lease_until = None
        locked.save()
        _line(locked, reading, counts, moment).save(force_insert=True)
    return _result(locked.pk, counts)


def _follow(feed: Feed, reading: Reading) -> str:
    """Believes a permanent redirect once it has held for several readings. Returns a note of it."""
    redirects = reading.fetched.redirects if reading.fetched else ()
    target = permanent_target(feed.url, redirects)
    feed.moved_to, feed.moved_polls = counted(target, before=feed.moved_to, polls=feed.moved_polls)
    # What we were given for one host is not for another, which a later reading would send it to.
    if not is_believed(feed.moved_polls) or (feed.credentials and not keeps_secrets(feed.url, target)):
        return ""
    if not is_address(target):
        return ""
    # What it may hold of a user and a password is not for us to keep in the clear.
    target = split_address(target)[0]
    note = MOVED.format(target, feed.moved_polls)
    feed.url, feed.host = target, host_of_url(target)
    feed.moved_to, feed.moved_polls = "", 0
    return note


@transaction.atomic
def record_failure(claimed: Feed, failure: ReadingFailed, answer: Answer) -> PollResult:
    """Counts the failure and says when it is tried again. Nothing of the items changes."""
    # What a server or library says may hold what PostgreSQL refuses, and this must not fail.
    error = shortened(one_line(str(failure)), MAX_ERROR)
    assert claimed.lease_token is not None  # noqa: S101 - claimed
    feed = _locked(claimed.pk, claimed.lease_token)
    if feed is None:
        return PollResult(claimed.pk, ok=False, error=TAKEN_OVER)
    now = answer.moment
    feed.failures += 1
    feed.failing_since = feed.failing_since or now
    feed.last_polled_at, feed.last_error = now, error
    feed.moved_to, feed.moved_polls = "", 0
    _schedule(feed, _after_failure(feed, failure, now))
    if failure.status == GONE:
        feed.status = Feed.Status.STOPPED
    feed.save()
    Poll.objects.create(
        feed=feed,
        at=now,
        outcome=Poll.Outcome.FAILED,
        status=failure.status,
        bytes=failure.bytes,
        duration_ms=round(answer.seconds * 1000),
        note=error,
        next_poll_at=feed.next_poll_at,
        next_poll_why=feed.next_poll_why,
    )
    return PollResult(feed.pk, ok=False, error=error)


def _after_failure(feed: Feed, failure: ReadingFailed, now: datetime) -> Next:
    first = first_pause(failure.status, pacing_of(feed).floor)
    pause = now + delay(feed.failures, first=first, limit=max(first, LONGEST_BACKOFF))
    wish = retry_at(failure.retry_after, now)
    return Next(wish, "retry_after") if wish and wish > pause else Next(pause, "backoff")


def _schedule(feed: Feed, planned: Next) -> None:
    feed.next_poll_at, feed.next_poll_why = planned.at, planned.why
    feed.lease_token = feed.lease_until = None


def _result(feed_id: int, counts: PollCounts) -> PollResult:
    return PollResult(
        feed_id,
        ok=True,
        new=counts.new,
        changed=counts.changed,
        vanished=counts.vanished,
        held=counts.held,
        excluded=counts.excluded,
        final=counts.final,
    )


def _chance() -> float:
    return random.random()  # noqa: S311 - only spreads readings
