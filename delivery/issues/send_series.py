"""Sends each subscriber the next email of a series (series.py) in time.

A SeriesRun says what a subscriber has, so that order and days may change, and the ledger lets no address have
an issue twice. An email that was cancelled by a pause, a switch or a new address is sent again.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from common.clock import utcnow
from common.db.bulk import update_rows
from common.db.prepared import AnyRows
from common.passes import TimeBudget
from common.ports.panels import CannotAct
from delivery.issues.pause import CANCELLED_BY_HAND, NotRetryable, locked_issue, retry_delivery
from delivery.issues.publish import queue
from delivery.issues.series import emails_of, refresh_posts
from delivery.models import Broadcast, Delivery, Restore
from delivery.models.delivery import NOT_FINISHED
from delivery.rules.series import (
    LOOK_AGAIN,
    Act,
    Last,
    RunFacts,
    Step,
    decide,
    decide_restored,
    due_at,
    next_step,
)
from subscriptions.models import SeriesRun, Subscribable, Subscription, Suppression
from subscriptions.subscribers.series import begin_series

log = logging.getLogger(__name__)
RUNS_A_BATCH = 500
# For rows that had no lane yet, and after an error.
SOON, AFTER_ERROR = timedelta(minutes=1), timedelta(minutes=15)


def due_series(now: datetime) -> "QuerySet[Subscribable]":
    """Return newsletters whose series may have something to send."""
    rows = Subscribable.objects.filter(
        welcome=Subscribable.Welcome.SERIES, stopped=False, sending_paused_at=None, channel="email"
    )
    due = SeriesRun.objects.filter(newsletter=OuterRef("pk"), due_at__lte=now).order_by("due_at")
    # One row per newsletter: PostgreSQL turns EXISTS into a join over all due rows.
    return rows.annotate(one_due=Subquery(due.values("pk")[:1])).filter(one_due__isnull=False)


_DUE = AnyRows(lambda now: (due_series(now),))


def send_series(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Queue emails for whom they are due, within the budget. Return how many."""
    left, queued = TimeBudget(budget), 0
    if not _DUE.at(clock()):
        return 0
    for newsletter in list(due_series(clock()).order_by("pk")):
        try:
            refresh_posts(newsletter, now=clock())
            while not left.is_spent and (looked_at := _send_batch(newsletter, clock())) is not None:
                queued += looked_at
        except Exception:
            log.exception("a series failed", extra={"newsletter": newsletter.pk})
            now = clock()
            failed = _due_runs(newsletter, now).values("pk")[:RUNS_A_BATCH]
            SeriesRun.objects.filter(pk__in=failed).update(due_at=now + AFTER_ERROR)
    return queued


def _due_runs(newsletter: Subscribable, now: datetime) -> "QuerySet[SeriesRun]":
    return SeriesRun.objects.filter(newsletter=newsletter, due_at__lte=now).order_by("due_at", "pk")


@transaction.atomic
def _send_batch(newsletter: Subscribable, now: datetime) -> int | None:
    """Decide about the next runs. Return how many emails were queued, None without any run."""
    rows = _due_runs(newsletter, now).select_related("subscription__destination")
    runs = list(rows.select_for_update(skip_locked=True, of=("self",), no_key=True)[:RUNS_A_BATCH])
    if not runs:
        return None
    restore = Restore.objects.filter(released_at=None).order_by("begun_at").first()
    there = emails_of(newsletter).filter(issue__isnull=False)
    letters = {row.pk: row for row in there.filter(issue__cancelled_at=None, issue__pruned_at=None)}
    steps = [_step(letter) for letter in letters.values()]
    wanted: dict[int, list[tuple[SeriesRun, RunFacts]]] = defaultdict(list)
    for run, facts, missed in _facts_of(newsletter, runs, steps, now):
        if restore is not None:
            # All that may have been sent since the backup is queued, and claims hold it for a person.
            decision = decide_restored(facts, steps, restore.begun_at, now)
        else:
            decision = decide(facts, steps, now)
        run.due_at = decision.at
        if decision.act is Act.SEND and decision.step is not None:
            wanted[decision.step.key].append((run, facts))
        elif decision.act is Act.REPEAT and missed is not None:
            key, delivery = missed
            if delivery.destination_id != run.subscription.destination_id:
                wanted[key].append((run, facts))
            elif not _repeat(delivery, now):
                run.due_at = now + LOOK_AGAIN
        elif decision.act is Act.END:
            run.ended_at = now
    queued = sum(
        _queue(letters[key], each, steps, now, is_restoring=restore is not None)
        for key, each in wanted.items()
    )
    update_rows(runs, ["sent", "deliveries", "last_at", "due_at", "ended_at"])
    return queued


def _step(letter: Broadcast) -> Step:
    is_paused = letter.issue is not None and letter.issue.paused_at is not None
    return Step(letter.pk, letter.series_days, is_paused, letter.post_item_id or 0)


def _facts_of(
    newsletter: Subscribable, runs: Sequence[SeriesRun], steps: Sequence[Step], now: datetime
) -> Iterable[tuple[SeriesRun, RunFacts, tuple[int, Delivery] | None]]:
    """Return each run with its facts, and what it missed: an email's key and its delivery.

    A handful of queries.
    """
    people = {run.subscription.destination_id for run in runs}
    cores = {run.subscription.destination.core for run in runs}
    suppressed = set(Suppression.objects.filter(core__in=cores).values_list("kind", "core"))
    # Several may have been cancelled: after a restore many are let go at once.
    latest = {run.deliveries[-1] for run in runs if run.deliveries}
    rows = Delivery.objects.filter(pk__any_of=frozenset(key for run in runs for key in run.deliveries))
    there = rows.filter(Q(pk__any_of=frozenset(latest)) | Q(state=Delivery.State.CANCELLED)).in_bulk()
    had = _had(people, {step.item for step in steps if step.item})
    in_series = {step.key for step in steps}
    for run in runs:
        row, to = run.subscription, run.subscription.destination
        theirs = [(key, there[pk]) for key, pk in zip(run.sent, run.deliveries, strict=True) if pk in there]
        missed = next((pair for pair in theirs if pair[0] in in_series and _is_missed(pair[1])), None)
        before = (missed or theirs[-1])[1] if theirs else None
        last = Last.MISSED if missed else Last.OVER
        if before is not None and before.state in NOT_FINISHED:
            last = Last.GOING
        yield (
            run,
            RunFacts(
                since=(before and before.sent_at) or run.last_at or run.begun_at,
                sent=run.sent,
                had=had.get(to.pk, ()),
                last=last,
                zone=ZoneInfo(run.time_zone) if run.time_zone else newsletter.zone,
                at=newsletter.series_time,
                is_confirmed=row.status == Subscription.Status.CONFIRMED and row.ended_at is None,
                is_blocked=to.disabled_at is not None or (to.kind, to.core) in suppressed,
                paused_until=row.paused_until,
                back_by=row.undo_until,
            ),
            missed,
        )


def _is_missed(delivery: Delivery) -> bool:
    """Return whether a claim cancelled it, because of the subscriber's pause, switch or move."""
    return delivery.state == Delivery.State.CANCELLED and delivery.last_error != CANCELLED_BY_HAND


def _had(people: Collection[int], items: Collection[int]) -> Mapping[int, set[int]]:
    """Return which of these posts each person has, from an issue."""
    found: dict[int, set[int]] = defaultdict(set)
    if items:
        rows = Delivery.objects.filter(destination__in=people, issue__issue_items__item__in=items)
        rows = rows.exclude(state=Delivery.State.CANCELLED).order_by()
        for to, item in rows.values_list("destination", "issue__issue_items__item"):
            found[to].add(item)
    return found


def _repeat(missed: Delivery, now: datetime) -> bool:
    try:
        retry_delivery(delivery=missed, now=now)
    except NotRetryable as error:
        log.info("an email of a series stays cancelled: %s", error, extra={"delivery": missed.pk})
        return False
    return True


def _queue(
    letter: Broadcast,
    wanted: Sequence[tuple[SeriesRun, RunFacts]],
    steps: Sequence[Step],
    now: datetime,
    *,
    is_restoring: bool,
) -> int:
    """Queue an email for these runs, and set when to look at each again."""
    issue = letter.issue
    assert issue is not None  # noqa: S101 - it is switched on
    # An edit locks it, too, so that the version is the newest.
    issue.version = locked_issue(issue.pk).version
    issue.subscribable = letter.subscribable
    mine = Delivery.objects.filter(issue=issue)
    theirs = mine.filter(destination=OuterRef("destination"))
    keys = [run.subscription_id for run, _ in wanted]
    recipients = Subscription.objects.filter(~Exists(theirs), pk__in=keys)
    queued = queue(issue=issue, recipients=recipients, now=now)
    people = [run.subscription.destination_id for run, _ in wanted]
    there = dict(mine.filter(destination__in=people).values_list("destination", "pk"))
    for run, facts in wanted:
        key = there.get(run.subscription.destination_id)
        if key is None:
            run.due_at = now + SOON
        elif letter.pk in run.sent:
            run.deliveries[run.sent.index(letter.pk)] = key
        else:
            run.last_at = due_at(_step(letter), facts) if is_restoring else now
            run.sent, run.deliveries = [*run.sent, letter.pk], [*run.deliveries, key]
            after = replace(facts, sent=run.sent, since=run.last_at)
            step = next_step(steps, after)
            # After the last one, look whether it has arrived.
            run.due_at = due_at(step, after) if step else now + LOOK_AGAIN
    return queued


@transaction.atomic
def begin_for(*, subscription: Subscription, now: datetime) -> None:
    """Begin the series for a subscriber who is here already. Raises CannotAct."""
    newsletter = subscription.subscribable
    if newsletter.welcome != Subscribable.Welcome.SERIES:
        raise CannotAct(f"“{newsletter}” has no series for new subscribers. Switch it on first.")
    rows = Subscription.objects.confirmed().select_for_update(no_key=True).filter(pk=subscription.pk)
    if (locked := rows.first()) is None or locked.is_beside:
        raise CannotAct("Only somebody who gets the newsletter by email can begin the series.")
    begin_series([locked], now=now)
