"""Recording outcomes: in groups, each guarded by its lease, except that an acceptance is always recorded."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import F

from common.text import without_controls
from delivery.channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from delivery.models import Attempt, Delivery
from delivery.rules.outcomes import Next, after_ambiguous, after_temporary
from delivery.services.accepting import Acceptance, acceptance, record_accepted
from delivery.services.answers import Answer, follow_answers, take_answers
from delivery.services.bouncing import lanes_concerned
from delivery.services.claimed import Job
from delivery.services.keeping import keep_letters
from delivery.services.resting import Stop, rest_lanes, well_lanes
from subscriptions.models import Destination

log = logging.getLogger(__name__)

CLOSED = {"lease_token": None, "lease_until": None}
MAX_TEXT = 2000


class Result(NamedTuple):
    """What a session said of a job, when, and the channel's crash policy (for an ambiguous end).

    `begun` is False when it came to nothing before the session had it.
    """

    job: Job
    outcome: Outcome
    at: datetime
    crash_policy: str = "resend"
    begun: bool = True

    @property
    def stops_lane(self) -> bool:
        return isinstance(self.outcome, Temporary) and self.outcome.stops_lane

    @property
    def is_suspect(self) -> bool:
        """Whether the lane stopped, and may have because of this very message."""
        return isinstance(self.outcome, Temporary) and self.outcome.stops_lane and self.outcome.suspect

    @property
    def is_lanes_alone(self) -> bool:
        """Whether the lane stopped before the message had any part in it: no connection, no login."""
        return self.stops_lane and not self.is_suspect


@transaction.atomic
def record(*, results: Sequence[Result]) -> None:
    """Makes the outcomes durable, all in one transaction. Safe to repeat after a failed commit.

    Locks deliveries, then destinations, then lanes, as everybody does.
    """
    results = sorted(results, key=lambda result: result.job.pk)
    accepted = [result for result in results if isinstance(result.outcome, Sent)]
    failed = [result for result in results if not isinstance(result.outcome, Sent)]
    record_accepted([_acceptance(result) for result in sorted(accepted, key=lambda one: one.job.pk)])
    ours = _record_failed(failed)
    keep_letters([(result.job, result.outcome, result.at) for result in accepted])
    answers = _answers(ours)
    taken = take_answers(answers)
    _disable(ours)
    rest_lanes(
        stops=[_stop(result) for result in failed if result.stops_lane],
        sent={result.job.row.lane for result in accepted},
        now=max((result.at for result in accepted), default=None),
        also=lanes_concerned(taken),
    )
    follow_answers(answers, taken)


def _acceptance(result: Result) -> Acceptance:
    assert isinstance(result.outcome, Sent)  # noqa: S101 - for the type checker
    stored = result.outcome.stored is not None
    return acceptance(result.job, result.at, result.outcome.remote_id, stored=stored)


def _record_failed(results: Sequence[Result]) -> list[Result]:
    """Returns those that were still ours; late failures are only logged.

    The first message to stop a lane that was well is counted: it may be the cause.
    """
    well = well_lanes({result.job.row.lane_id for result in results if result.is_suspect})
    rows = Delivery.objects.only("attempts", "created_at", "due_at", "begun_at", "last_error")
    known = rows.in_bulk([result.job.pk for result in results])
    ours = []
    for result in results:
        row = known.get(result.job.pk)  # (None: its newsletter was dropped meanwhile.)
        if row and _record_failure(result, row, _after(result, row, result.job.row.lane_id in well)):
            ours.append(result)
        else:
            log.warning("a late failure, not recorded", extra={"delivery": result.job.pk})
        if result.is_suspect:
            well.discard(result.job.row.lane_id)
    Attempt.objects.bulk_create([_attempt(result) for result in ours if not result.is_lanes_alone])
    return ours


def _attempt(result: Result) -> Attempt:
    return Attempt(
        delivery_id=result.job.pk,
        at=result.at,
        outcome=type(result.outcome).__name__.lower(),
        status=getattr(result.outcome, "status", ""),
        text=_text(result),
    )


def _after(result: Result, row: Delivery, is_lane_well: bool) -> tuple[Next, bool]:
    """What becomes of it, and whether the attempt counts."""
    if result.is_lanes_alone:
        return Next("queued"), False
    if result.stops_lane and not is_lane_well:
        return Next("deferred", result.at), False
    return _after_attempt(result, row.attempts + 1, row.created_at), True


def _record_failure(result: Result, row: Delivery, after: tuple[Next, bool]) -> bool:
    becomes, counts = after
    # An earlier attempt whose end is unknown stays unknown until a session has dealt with it.
    unknown = row.begun_at if isinstance(result.outcome, Ambiguous) else None
    dealt_with = result.begun and not result.is_lanes_alone
    ours = Delivery.objects.filter(pk=row.pk, lease_token=result.job.token, state=Delivery.State.SENDING)
    changed = ours.update(
        state=becomes.state,
        due_at=becomes.due_at or row.due_at,
        attempts=F("attempts") + int(counts),
        last_error=row.last_error if result.is_lanes_alone else _text(result),
        begun_at=unknown if dealt_with else result.job.begun_before,
        **CLOSED,
    )
    return bool(changed)


def _after_attempt(result: Result, attempts: int, created_at: datetime) -> Next:
    outcome, now = result.outcome, result.at
    if isinstance(outcome, Ambiguous):
        policy = "hold" if outcome.holds else result.crash_policy
        return after_ambiguous(policy, attempts=attempts, created_at=created_at, now=now)
    if isinstance(outcome, Temporary):
        return after_temporary(attempts=attempts, created_at=created_at, retry_at=outcome.retry_at, now=now)
    return Next("failed")


def _text(result: Result) -> str:
    return without_controls(getattr(result.outcome, "text", ""))[:MAX_TEXT]


def _stop(result: Result) -> Stop:
    return Stop(
        lane_id=result.job.row.lane_id,
        text=_text(result),
        retry_at=getattr(result.outcome, "retry_at", None),
        claimed_at=result.job.claimed_at,
        at=result.at,
    )


def _answers(results: Sequence[Result]) -> list[Answer]:
    """Those in which the server gave a reason by its code."""
    outcomes = {
        result.job.pk: (result, result.outcome)
        for result in results
        if isinstance(result.outcome, Permanent | Temporary) and result.outcome.status
    }
    if not outcomes:
        return []
    rows = Delivery.objects.select_related("destination", "subscription", "issue")
    found = rows.defer("issue__html", "issue__text", "context").in_bulk(list(outcomes))
    return [
        Answer(found[pk], result.job.token, replace(outcome, text=_text(result)), result.at)
        for pk, (result, outcome) in outcomes.items()
        if pk in found
    ]


def _disable(results: Sequence[Result]) -> None:
    for result in sorted(results, key=lambda result: result.job.row.destination_id):
        if isinstance(result.outcome, Permanent) and result.outcome.disables:
            Destination.objects.filter(pk=result.job.row.destination_id, disabled_at=None).update(
                disabled_at=result.at, disabled_reason=_text(result)
            )


def hold(*, job: Job, reason: str) -> None:
    """Ends a claim whose outcome cannot be recorded: a person has to look."""
    Delivery.objects.filter(pk=job.pk, lease_token=job.token, state=Delivery.State.SENDING).update(
        state=Delivery.State.HELD, last_error=without_controls(reason)[:MAX_TEXT], **CLOSED
    )
