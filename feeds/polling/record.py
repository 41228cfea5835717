import logging
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from http import HTTPStatus
from operator import attrgetter
from typing import Any

from django.db import transaction
from django.db.models import F

from common.backoff import delay
from common.counters import count
from common.db.bulk import insert_rows, update_rows
from common.net.client import keeps_secrets
from common.text import one_line, shortened
from feeds.addresses import host_of_url, is_address
from feeds.credentials import split_address
from feeds.models import Feed, FeedDocument, HubSubscription, Item, Poll, TrackedItem
from feeds.polling.audience import tell_audience
from feeds.polling.claims import is_scout, wake
from feeds.polling.describe import keep_answer
from feeds.polling.read import CONDITIONS, Reading, ReadingFailed, unforeseen
from feeds.polling.store import prepare, settle_last, store
from feeds.rules.alerts import (
    GONE_ASKED_EVERY,
    PROBED_EVERY,
    PROBED_FOR,
    count_move,
    is_away,
    is_believed,
    is_gone,
    permanent_target,
)
from feeds.rules.facts import PollPlan
from feeds.rules.pace import (
    KEEP_AWAY,
    first_pause,
    fresh_for,
    longest_wish,
    next_poll,
    retry_at,
    shortest_pause,
)
from feeds.rules.websub import SILENT_AFTER, TAKES_PUSHES, hub_is_live

LONGEST_BACKOFF = timedelta(hours=24)
MAX_POLL_ERROR = 1000
TAKEN_OVER = "The feed was changed, dropped or taken over by another worker meanwhile; nothing was stored."
GONE_NOW = "It is no longer read."
GONE_YET = "It is asked again, and no longer read once that has held for a day."
MOVED = "Its address is {} now: the server has redirected there for good at {} readings."
READ_FIELDS = (
    *("url", "host", "floods_sent_at", "first_polled_at", "last_polled_at", "fetched_through", "hold_next"),
    *("read_elsewhere_until", "failures", "failing_since", "last_error", "moved_to", "moved_polls"),
    *("gone_polls", "gone_since", "next_poll_at", "next_poll_why", "lease_token", "lease_until"),
)
read_fields = attrgetter(*READ_FIELDS)
POLL_FIELDS = [field for field in Poll._meta.concrete_fields if not field.primary_key]

log = logging.getLogger(__name__)


def record_all(every: Sequence[tuple[Feed, Reading]]) -> list[Poll]:
    """Record quiet answers (304 or the same bytes) together, others one by one.

    When a feed can be read again, others that wait for its host become due.
    """
    quiet = [(feed, reading) for feed, reading in every if reading.unchanged and not reading.failure]
    polls: dict[int, Poll] = {}
    if len(quiet) > 1:
        try:
            polls = _record_quiet(quiet)
        except Exception:
            log.exception("recording quiet polls together failed; each is recorded alone")
    polls |= {feed.pk: record(feed, reading) for feed, reading in every if feed.pk not in polls}
    for outcome, number in Counter("read" if poll.ok else "failed" for poll in polls.values()).items():
        count("polls", outcome, number)
    back = {feed.host for feed, reading in every if feed.failures and feed.host and _host_answers(reading)}
    if back:
        wake(hosts=back, now=max(reading.moment for _, reading in every))
    return [polls[feed.pk] for feed, _ in every]


def _host_answers(reading: Reading) -> bool:
    """Return whether the host is there and does not ask for a rest."""
    if (failure := reading.failure) is None:
        return True
    is_there = reading.fetched is not None and not is_away(failure.status, unreached=False)
    return is_there and failure.status not in KEEP_AWAY


def record(feed: Feed, reading: Reading) -> Poll:
    """Use one transaction."""
    try:
        if reading.failure:
            raise reading.failure
        rows = prepare(feed, reading)
        with transaction.atomic():
            locked = _locked(feed)
            if locked is None:
                return _taken_over(feed)
            plan = store(locked, reading, rows)
            if locked.read_by:
                tell_audience(locked, reading, plan)
            waits = _waits(locked, reading.moment)
            live = bool(live_among(feed_ids=[feed.pk], now=reading.moment))
            poll = _read(locked, reading, plan, settling=waits, hub_is_live=live)
            if live and poll.new:
                noticed_by_poll(feed_id=feed.pk, moment=reading.moment)
            locked.save()
            poll.save(force_insert=True)
            return poll
    except ReadingFailed as error:
        return record_failure(feed, error, reading)
    except Exception as error:
        log.exception("polling failed", extra={"feed": feed.pk})
        return record_failure(feed, unforeseen(error), reading)


@transaction.atomic
def _record_quiet(every: Sequence[tuple[Feed, Reading]]) -> dict[int, Poll]:
    tokens = {feed.lease_token for feed, _ in every}
    rows = Feed.objects.filter(pk__in=[feed.pk for feed, _ in every], lease_token__in=tokens).order_by("pk")
    feeds = {feed.pk: feed for feed in rows.select_for_update()}
    results = {feed.pk: _taken_over(feed) for feed, _ in every if feed.pk not in feeds}
    if not feeds:
        return results
    before = [read_fields(feed) for feed in feeds.values()]
    with_items = set(
        Item.objects.unassigned().filter(feed__in=feeds).order_by().values_list("feed_id", flat=True)
    )
    live = live_among(feed_ids=feeds, now=every[0][1].moment)
    polls, in_full = [], []
    for claimed, reading in every:
        feed = feeds.get(claimed.pk)
        if feed is None:
            continue
        plan, waits = PollPlan(), False
        # Saves queries.
        if feed.pk in with_items or feed.is_tracked(reading.moment):
            plan = store(feed, reading)
            waits = _waits(feed, reading.moment)
        elif reading.last is not None and reading.headers != reading.last.headers:
            keep_answer(feed, reading)
        elif reading.asked_all and CONDITIONS.keys() & reading.headers.keys():
            in_full.append(feed.pk)
        poll = _read(feed, reading, plan, settling=waits, hub_is_live=feed.pk in live)
        polls.append(poll)
        results[feed.pk] = poll
    if in_full:
        FeedDocument.objects.filter(pk__in=in_full).update(sent_at=max(each.moment for _, each in every))
    after = [read_fields(feed) for feed in feeds.values()]
    columns = zip(READ_FIELDS, zip(*before, strict=True), zip(*after, strict=True), strict=True)
    update_rows(list(feeds.values()), [name for name, was, now in columns if was != now])
    insert_rows(Poll, {field.name: [getattr(poll, field.attname) for poll in polls] for field in POLL_FIELDS})
    return results


def _waits(feed: Feed, moment: datetime) -> bool:
    if Item.objects.settling().filter(feed=feed).exists():
        return True
    return feed.is_tracked(moment) and TrackedItem.objects.unsettled().filter(item__feed=feed).exists()


def _locked(claimed: Feed) -> Feed | None:
    assert claimed.lease_token is not None  # noqa: S101 - claimed
    return Feed.objects.select_for_update().filter(pk=claimed.pk, lease_token=claimed.lease_token).first()


def _taken_over(feed: Feed) -> Poll:
    return Poll(feed=feed, outcome=Poll.Outcome.FAILED, note=TAKEN_OVER)


def _read(feed: Feed, reading: Reading, plan: PollPlan, *, settling: bool, hub_is_live: bool) -> Poll:
    """Update the feed, unsaved.

    `settling`: posts wait to become final.
    """
    fetched, channel, note, moment = reading.fetched, reading.channel, reading.note, reading.moment
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
    feed.next_poll_at, feed.next_poll_why = next_poll(
        feed,
        channel,
        moment,
        fresh_for=fresh_for(fetched.headers, moment) if fetched else timedelta(0),
        settling=settling,
        hub_is_live=hub_is_live,
        chance=random.random(),  # noqa: S311 - only spreads readings
    )
    feed.lease_token = feed.lease_until = None
    return _line(feed, reading, **plan.counts, note=note)


def _line(feed: Feed, reading: Reading, **said: Any) -> Poll:
    answer = {
        "outcome": Poll.Outcome.UNCHANGED if reading.unchanged else Poll.Outcome.READ,
        "status": reading.fetched.status if reading.fetched else None,
        "bytes": len(reading.body),
    }
    return Poll(
        feed=feed,
        at=reading.moment,
        origin=Poll.Origin.PUSH if reading.partial else Poll.Origin.POLL,
        duration_ms=round(reading.seconds * 1000),
        next_poll_at=feed.next_poll_at,
        next_poll_why=feed.next_poll_why,
        **{**answer, **said},
    )


def record_push(feed: Feed, reading: Reading) -> Poll:
    """Record a push, which says nothing of posts that it lacks.

    Keeps the time of the last full reading, and the failures.
    """
    rows = prepare(feed, reading)
    with transaction.atomic():
        locked = _locked(feed)
        if locked is None:
            return _taken_over(feed)
        plan = store(locked, reading, rows)
        if locked.read_by:
            tell_audience(locked, reading, plan)
        soon = reading.moment if plan.deferred else reading.moment + shortest_pause(locked)
        if soon < locked.next_poll_at and not locked.failures:
            locked.next_poll_at, locked.next_poll_why = soon, "push"
        locked.lease_token = locked.lease_until = None
        locked.save()
        poll = _line(locked, reading, **plan.counts)
        poll.save(force_insert=True)
    return poll


@transaction.atomic
def record_failure(claimed: Feed, failure: ReadingFailed, reading: Reading) -> Poll:
    """Count it and schedule the next attempt. Items change only if the feed is gone."""
    feed = _locked(claimed)
    if feed is None:
        return _taken_over(claimed)
    now = reading.moment
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
    feed.next_poll_at, feed.next_poll_why = _after_failure(feed, failure, now)
    feed.last_polled_at, feed.last_error = now, error
    feed.moved_to, feed.moved_polls = "", 0
    feed.lease_token = feed.lease_until = None
    said = {"outcome": Poll.Outcome.FAILED, "status": failure.status, "bytes": failure.bytes, "note": error}
    if over:
        feed.status = Feed.Status.STOPPED
        said["final"] = settle_last(feed, now)
    feed.save()
    poll = _line(feed, reading, **said)
    poll.save(force_insert=True)
    return poll


def _after_failure(feed: Feed, failure: ReadingFailed, now: datetime) -> tuple[datetime, str]:
    is_gone = failure.status == HTTPStatus.GONE
    first = first_pause(failure.status, shortest_pause(feed))
    longest = GONE_ASKED_EVERY if is_gone else LONGEST_BACKOFF
    pause = delay(feed.failures, first=first, limit=max(first, longest))
    kept_to = feed.last_polled_at if feed.next_poll_why == "retry_after" else None
    wish = retry_at(failure.retry_after, now)
    if wish and wish > now + pause:
        return min(wish, now + max(pause, longest_wish(now - (kept_to or now)))), "retry_after"
    if not is_away(failure.status, unreached=failure.unreached):
        return now + pause, "gone" if is_gone else "backoff"
    is_recent = now - (feed.failing_since or now) < PROBED_FOR
    if pause > PROBED_EVERY and is_recent and is_scout(feed, now):
        return now + PROBED_EVERY, "probe"
    return now + pause, "unreachable"


def live_among(*, feed_ids: Iterable[int], now: datetime) -> set[int]:
    """Return feeds whose hub is reliable, so that they may be read less often. One query."""
    rows = HubSubscription.objects.filter(feed__in=list(feed_ids), state__in=TAKES_PUSHES)
    return {
        row.feed_id
        for row in rows.only("feed", "state", "expires_at", "missed")
        if row.feed_id is not None and hub_is_live(row.state, row.expires_at, row.missed, now)
    }


def noticed_by_poll(*, feed_id: int, moment: datetime) -> None:
    """Count a poll that found posts the hub had not pushed.

    After two, the hub counts as silent until its next push, and we subscribe anew in case it lost us.
    """
    live = HubSubscription.objects.filter(feed_id=feed_id, state__in=TAKES_PUSHES, expires_at__gt=moment)
    last = SILENT_AFTER - 1
    if not live.filter(missed=last).update(missed=SILENT_AFTER, next_at=moment):
        live.filter(missed__lt=last).update(missed=F("missed") + 1)
