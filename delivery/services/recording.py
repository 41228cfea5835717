"""Recording outcomes: in groups, each guarded by its lease, except that an acceptance is always recorded."""

import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from common.text import without_controls
from delivery.channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from delivery.models import Attempt, Delivery, Lane
from delivery.rules.outcomes import Next, after_ambiguous, after_temporary
from delivery.services.claiming import Job
from delivery.services.keeping import keep_letters
from delivery.services.resting import Stop, rest_lanes
from subscriptions.models import Destination

log = logging.getLogger(__name__)

CLOSED = {"lease_token": None, "lease_until": None}
MAX_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Result:
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


@transaction.atomic
def record(*, results: Sequence[Result]) -> None:
    """Makes the outcomes durable, all in one transaction. Safe to repeat after a failed commit.

    Locks deliveries, then destinations, then lanes, as everybody does.
    """
    results = sorted(results, key=lambda result: result.job.pk)
    accepted = [result for result in results if isinstance(result.outcome, Sent)]
    failed = [result for result in results if not isinstance(result.outcome, Sent)]
    _record_accepted(accepted)
    ours = _record_failed(failed)
    keep_letters([(result.job, result.outcome, result.at) for result in accepted])
    _disable(ours)
    rest_lanes(
        stops=[_stop(result) for result in failed if result.stops_lane],
        sent={result.job.row.lane for result in accepted},
    )


def _record_accepted(results: Sequence[Result]) -> None:
    alike: dict[tuple[UUID, str, bool], list[Result]] = defaultdict(list)
    for result in results:
        assert isinstance(result.outcome, Sent)  # noqa: S101 - for the type checker
        remote_id = without_controls(result.outcome.remote_id)[:255]
        alike[(result.job.token, remote_id, result.outcome.stored is not None)].append(result)
    for (token, remote_id, stored), group in alike.items():
        at, pks = max(result.at for result in group), [result.job.pk for result in group]
        ours = Delivery.objects.filter(pk__in=pks, lease_token=token, state=Delivery.State.SENDING)
        if ours.update(**_accepted(at, remote_id, stored)) != len(pks):
            _record_late(pks, at, remote_id, stored)


def _accepted(at: datetime, remote_id: str, stored: bool) -> dict[str, object]:
    return {
        "state": Delivery.State.STORED if stored else Delivery.State.SENT,
        "sent_at": at,
        "remote_id": remote_id,
        "last_error": "",
        "begun_at": None,
        "attempts": F("attempts") + 1,
        **CLOSED,
    }


def _record_late(pks: Sequence[int], at: datetime, remote_id: str, stored: bool) -> None:
    """Acceptances after our lease was taken from us: the message did arrive, so that is recorded.

    Whoever claimed it meanwhile finds its lease gone at the next renewal and skips it if not begun.
    """
    for row in Delivery.objects.select_for_update(no_key=True).filter(pk__in=pks).order_by("pk"):
        if (row.remote_id, row.sent_at) == (remote_id, at):
            continue  # just now, or by the commit of which we did not hear
        log.warning("accepted after the lease was lost", extra={"delivery": row.pk})
        if row.state in (Delivery.State.SENDING, Delivery.State.SENT):
            Attempt.objects.create(delivery=row, at=at, outcome="accepted twice", text=remote_id)
        if row.state not in (Delivery.State.SENT, Delivery.State.STORED):
            Delivery.objects.filter(pk=row.pk, state=row.state).update(**_accepted(at, remote_id, stored))


def _record_failed(results: Sequence[Result]) -> list[Result]:
    """Returns those that were still ours; late failures are only logged.

    The first to stop a lane that was well is counted: the cause may be the message.
    """
    lanes = {result.job.row.lane_id for result in results if result.stops_lane}
    well = set(Lane.objects.filter(pk__in=lanes, failures=0).values_list("pk", flat=True)) if lanes else set()
    ours = []
    for result in results:
        counts = not result.stops_lane or result.job.row.lane_id in well
        if _record_failure(result, counts):
            ours.append(result)
        else:
            log.warning("a late failure, not recorded", extra={"delivery": result.job.pk})
        if result.stops_lane:
            well.discard(result.job.row.lane_id)
    Attempt.objects.bulk_create(
        [
            Attempt(
                delivery_id=result.job.pk,
                at=result.at,
                outcome=type(result.outcome).__name__.lower(),
                text=_text(result),
            )
            for result in ours
        ]
    )
    return ours


def _record_failure(result: Result, counts: bool) -> bool:
    row = result.job.row
    after = _after(result, row.attempts + 1) if counts else Next("deferred", result.at)
    # An earlier attempt whose end is unknown stays unknown until a session has dealt with it.
    unknown = row.begun_at if isinstance(result.outcome, Ambiguous) else None
    ours = Delivery.objects.filter(pk=row.pk, lease_token=result.job.token, state=Delivery.State.SENDING)
    changed = ours.update(
        state=after.state,
        due_at=after.due_at or row.due_at,
        attempts=F("attempts") + int(counts),
        last_error=_text(result),
        begun_at=unknown if result.begun else result.job.begun_before,
        **CLOSED,
    )
    return bool(changed)


def _after(result: Result, attempts: int) -> Next:
    outcome, created_at, now = result.outcome, result.job.row.created_at, result.at
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
