import logging
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from operator import attrgetter
from uuid import UUID

from django.db import transaction

from common.backoff import delay
from common.counters import count
from common.db.bulk import insert_rows, update_rows
from common.net.client import keeps_secrets
from common.text import one_line, shortened
from feeds.addresses import host_of_url, is_address
from feeds.credentials import split_address
from feeds.models import Feed, FeedDocument, Item, Poll
from feeds.polling.audience import tell_audience
from feeds.polling.claims import is_scout, wake
from feeds.polling.corrections import is_unsettled
from feeds.polling.describe import keep_answer
from feeds.polling.hub_liveness import live_among, noticed_by_poll
from feeds.polling.read import CONDITIONS, FetchResult, Kept, Reading, ReadingFailed, reading_of, unforeseen
from feeds.polling.store import PollCounts, prepare, settle_last, store
from feeds.rules.address_moves import count_move, is_believed, permanent_target
from feeds.rules.outage import GONE_ASKED_EVERY, PROBED_EVERY, PROBED_FOR, is_away, is_gone
from feeds.rules.pace import KEEP_AWAY, Next, Signs, first_pause, fresh_for, longest_wish, next_poll, retry_at

LONGEST_BACKOFF = timedelta(hours=24)
MAX_POLL_ERROR = 1000
TAKEN_OVER = "The feed was changed, dropped or taken over by another worker meanwhile; nothing was stored."
GONE_NOW = "It is no longer read."
GONE_YET = "It is asked again, and no longer read once that has held for a day."
MOVED = "Its address is {} now: the server has redirected there for good at {} readings."
READ_FIELDS = (
    "url",
    "host",
    "floods_sent_at",
    "first_polled_at",
    "last_polled_at",
    "fetched_through",
    "hold_next",
    "read_elsewhere_until",
    "failures",
    "failing_since",
    "last_error",
    "moved_to",
    "moved_polls",
    "gone_polls",
    "gone_since",
    "next_poll_at",
    "next_poll_why",
    "lease_token",
    "lease_until",
)
read_fields = attrgetter(*READ_FIELDS)
POLL_FIELDS = [field for field in Poll._meta.concrete_fields if not field.primary_key]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PollResult:
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
    feed: Feed
    kept: Kept | None
    answer: FetchResult

    @property
    def host_answers(self) -> bool:
        """Whether the host is there and does not ask for a rest."""
        failure = self.answer.failure
        if failure is None:
            return True
        is_there = self.answer.fetched is not None and not is_away(failure.status, unreached=False)
        return is_there and failure.status not in KEEP_AWAY


def record_all(every: Sequence[Answered]) -> list[PollResult]:
    """Record quiet answers (304 or the same bytes) together, others one by one.

    When a feed can be read again, others that wait for its host become due.
    """
    quiet = [one for one in every if one.answer.failure is None and one.answer.parsed is None]
    results: dict[int, PollResult] = {}
    if len(quiet) > 1:
        try:
            results = {result.feed_id: result for result in _record_quiet(quiet)}
        except Exception:
            log.exception("recording quiet polls together failed; each is recorded alone")
    results |= {one.feed.pk: record(one) for one in every if one.feed.pk not in results}
    for outcome, number in Counter("read" if one.ok else "failed" for one in results.values()).items():
        count("polls", outcome, number)
    back = {one.feed.host for one in every if one.feed.failures and one.host_answers and one.feed.host}
    if back:
        wake(hosts=back, now=max(one.answer.moment for one in every))
    return [results[one.feed.pk] for one in every]


def record(one: Answered) -> PollResult:
    """Use one transaction."""
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
            if locked.read_by:
                tell_audience(locked, reading, moment, counts)
            waits = _waits(locked, moment)
            live = bool(live_among(feed_ids=[feed.pk], now=moment))
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


@transaction.atomic
def _record_quiet(every: Sequence[Answered]) -> list[PollResult]:
    tokens = {one.feed.lease_token for one in every}
    rows = Feed.objects.filter(pk__in=[one.feed.pk for one in every], lease_token__in=tokens).order_by("pk")
    feeds = {feed.pk: feed for feed in rows.select_for_update()}
    if not feeds:
        return [PollResult(one.feed.pk, ok=False, error=TAKEN_OVER) for one in every]
    before = [read_fields(feed) for feed in feeds.values()]
    with_items = set(
        Item.objects.unassigned().filter(feed__in=feeds).order_by().values_list("feed_id", flat=True)
    )
    live = live_among(feed_ids=feeds, now=every[0].answer.moment)
    results, polls, in_full = [], [], []
    for one in every:
        feed = feeds.get(one.feed.pk)
        if feed is None:
            results.append(PollResult(one.feed.pk, ok=False, error=TAKEN_OVER))
            continue
        reading, moment = reading_of(one.kept, one.answer), one.answer.moment
        counts, waits = PollCounts(), False
        # Saves queries.
        if feed.pk in with_items or feed.is_tracked(moment):
            counts = store(feed, reading, moment)
            waits = _waits(feed, moment)
        elif one.kept is not None and reading.headers != one.kept.headers:
            keep_answer(feed, reading, moment)
        elif one.answer.asked_all and CONDITIONS.keys() & reading.headers.keys():
            in_full.append(feed.pk)
        is_live = feed.pk in live
        polls.append(_read(feed, reading, counts, settling=waits, hub_is_live=is_live, moment=moment))
        results.append(_result(feed.pk, counts))
    if in_full:
        FeedDocument.objects.filter(pk__in=in_full).update(sent_at=max(one.answer.moment for one in every))
    after = [read_fields(feed) for feed in feeds.values()]
    columns = zip(READ_FIELDS, zip(*before, strict=True), zip(*after, strict=True), strict=True)
    update_rows(list(feeds.values()), [name for name, was, now in columns if was != now])
    insert_rows(Poll, {field.name: [getattr(poll, field.attname) for poll in polls] for field in POLL_FIELDS})
    return results


def _waits(feed: Feed, moment: datetime) -> bool:
    if Item.objects.settling().filter(feed=feed).exists():
        return True
    return feed.is_tracked(moment) and is_unsettled(feed)


def _locked(feed_id: int, token: UUID) -> Feed | None:
    return Feed.objects.select_for_update().filter(pk=feed_id, lease_token=token).first()


def _read(
    feed: Feed, reading: Reading, counts: PollCounts, *, settling: bool, hub_is_live: bool, moment: datetime
) -> Poll:
    """Update the feed, unsaved.

    `settling`: posts wait to become final.
    """
    fetched, channel, note = reading.fetched, reading.channel, reading.note
    target = permanent_target(feed.url, fetched.redirects if fetched else ())
    feed.moved_to, feed.moved_polls = count_move(target, before=feed.moved_to, polls=feed.moved_polls)
    # Another host must not get the credentials.
    may_follow = is_address(target) and (not feed.credentials or keeps_secrets(feed.url, target))
    if is_believed(feed.moved_polls) and may_follow:
        # They must not be stored in plain text.
        target = split_address(target)[0]
        note = f"{MOVED.format(target, feed.moved_polls)} {note}".rstrip()
        if host_of_url(target) != feed.host:
            feed.floods_sent_at = None
        feed.url, feed.host = target, host_of_url(target)
        feed.moved_to, feed.moved_polls = "", 0
    feed.first_polled_at = feed.first_polled_at or moment
    feed.last_polled_at = feed.fetched_through = moment
    feed.hold_next, feed.read_elsewhere_until = False, None
    if feed.failures:
        log.info("a feed can be read again: %s", feed.host, extra={"feed": feed.pk})
    feed.failures, feed.failing_since, feed.last_error = 0, None, ""
    feed.gone_polls, feed.gone_since = 0, None
    signs = Signs(
        settling=settling,
        age=moment - feed.added_at,
        rhythm=timedelta(minutes=feed.rhythm_minutes) if feed.rhythm_minutes is not None else None,
        fresh_for=fresh_for(fetched.headers, moment) if fetched else timedelta(0),
        ttl=timedelta(minutes=channel.ttl or 0),
        skip_hours=frozenset(channel.skip_hours),
        skip_days=frozenset(channel.skip_days),
        hub_is_live=hub_is_live,
    )
    chance = random.random()  # noqa: S311 - only spreads readings
    planned = next_poll(feed.pacing, signs, moment, chance=chance)
    feed.next_poll_at, feed.next_poll_why = planned.at, planned.why
    feed.lease_token = feed.lease_until = None
    return _line(feed, reading, counts, moment, note)


def _line(feed: Feed, reading: Reading, counts: PollCounts, moment: datetime, note: str = "") -> Poll:
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
        vanished=counts.vanished + counts.set_aside,
        held=counts.held,
        excluded=counts.excluded,
        final=counts.final,
        note=note,
        next_poll_at=feed.next_poll_at,
        next_poll_why=feed.next_poll_why,
    )


def record_push(feed: Feed, reading: Reading, moment: datetime) -> PollResult:
    """Record a push, which says nothing of posts that it lacks.

    Keeps the time of the last full reading, and the failures.
    """
    assert feed.lease_token is not None  # noqa: S101 - claimed
    rows = prepare(feed, reading, moment)
    with transaction.atomic():
        locked = _locked(feed.pk, feed.lease_token)
        if locked is None:
            return PollResult(feed.pk, ok=False, error=TAKEN_OVER)
        counts = store(locked, reading, moment, rows)
        if locked.read_by:
            tell_audience(locked, reading, moment, counts)
        soon = Next(moment if counts.deferred else moment + locked.pacing.floor, "push")
        if soon.at < locked.next_poll_at and not locked.failures:
            locked.next_poll_at, locked.next_poll_why = soon.at, soon.why
        locked.lease_token = locked.lease_until = None
        locked.save()
        _line(locked, reading, counts, moment).save(force_insert=True)
    return _result(locked.pk, counts)


@transaction.atomic
def record_failure(claimed: Feed, failure: ReadingFailed, answer: FetchResult) -> PollResult:
    """Count it and schedule the next attempt. Items change only if the feed is gone."""
    assert claimed.lease_token is not None  # noqa: S101 - claimed
    feed = _locked(claimed.pk, claimed.lease_token)
    if feed is None:
        return PollResult(claimed.pk, ok=False, error=TAKEN_OVER)
    now = answer.moment
    # No answer at all says nothing about this.
    if failure.status == HTTPStatus.GONE:
        feed.gone_polls, feed.gone_since = feed.gone_polls + 1, feed.gone_since or now
    elif not is_away(failure.status, unreached=failure.unreached):
        feed.gone_polls, feed.gone_since = 0, None
    over = is_gone(feed.gone_polls, feed.gone_since, now)
    words = str(failure) + (f" {GONE_NOW if over else GONE_YET}" if feed.gone_polls else "")
    # May have characters that PostgreSQL refuses.
    error = shortened(one_line(words), MAX_POLL_ERROR)
    if not feed.failures:
        log.warning("a feed cannot be read: %s: %s", feed.host, error, extra={"feed": feed.pk})
    feed.failures += 1
    feed.failing_since = feed.failing_since or now
    planned = _after_failure(feed, failure, now)
    feed.last_polled_at, feed.last_error = now, error
    feed.moved_to, feed.moved_polls = "", 0
    feed.next_poll_at, feed.next_poll_why = planned.at, planned.why
    feed.lease_token = feed.lease_until = None
    final = 0
    if over:
        feed.status = Feed.Status.STOPPED
        final = settle_last(feed, now)
    feed.save()
    Poll.objects.create(
        feed=feed,
        at=now,
        outcome=Poll.Outcome.FAILED,
        status=failure.status,
        bytes=failure.bytes,
        duration_ms=round(answer.seconds * 1000),
        final=final,
        note=error,
        next_poll_at=feed.next_poll_at,
        next_poll_why=feed.next_poll_why,
    )
    return PollResult(feed.pk, ok=False, error=error, final=final)


def _after_failure(feed: Feed, failure: ReadingFailed, now: datetime) -> Next:
    is_gone = failure.status == HTTPStatus.GONE
    first = first_pause(failure.status, feed.pacing.floor)
    longest = GONE_ASKED_EVERY if is_gone else LONGEST_BACKOFF
    pause = delay(feed.failures, first=first, limit=max(first, longest))
    kept_to = feed.last_polled_at if feed.next_poll_why == "retry_after" else None
    wish = retry_at(failure.retry_after, now)
    if wish and wish > now + pause:
        return Next(min(wish, now + max(pause, longest_wish(now - (kept_to or now)))), "retry_after")
    if not is_away(failure.status, unreached=failure.unreached):
        return Next(now + pause, "gone" if is_gone else "backoff")
    is_recent = now - (feed.failing_since or now) < PROBED_FOR
    if pause > PROBED_EVERY and is_recent and is_scout(feed, now):
        return Next(now + PROBED_EVERY, "probe")
    return Next(now + pause, "unreachable")


def _result(feed_id: int, counts: PollCounts) -> PollResult:
    return PollResult(
        feed_id,
        ok=True,
        new=counts.new,
        changed=counts.changed,
        vanished=counts.vanished + counts.set_aside,
        held=counts.held,
        excluded=counts.excluded,
        final=counts.final,
    )
