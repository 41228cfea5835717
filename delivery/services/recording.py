"""Recording outcomes: in groups, each guarded by its lease, except that an acceptance is always recorded."""

import logging
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email import message_from_bytes, policy
from uuid import UUID

from django.db import transaction
from django.db.models import F

from delivery.channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from delivery.models import Attempt, Delivery, Lane, MailboxMessage
from delivery.rules.outcomes import Next, after_crash, after_temporary, lane_pause
from delivery.services.claiming import Job
from subscriptions.models import Destination

log = logging.getLogger(__name__)

CLOSED = {"lease_token": None, "lease_until": None}
MAX_TEXT = 2000


@dataclass(frozen=True, slots=True)
class Result:
    """What a session said of a job, when, and the channel's crash policy (for an ambiguous end)."""

    job: Job
    outcome: Outcome
    at: datetime
    crash_policy: str = "resend"


@transaction.atomic
def record(*, results: Sequence[Result]) -> None:
    """Makes the outcomes durable, all in one transaction. Safe to repeat after a failed commit."""
    plain: dict[tuple[UUID, str], list[Result]] = defaultdict(list)
    for result in results:
        if isinstance(result.outcome, Sent):
            plain[(result.job.token, result.outcome.remote_id)].append(result)
        else:
            _record_failure(result)
    for (token, remote_id), group in plain.items():
        _record_sent(token, remote_id, group)
    _clear_lane_failures({result.job.row.lane_id for group in plain.values() for result in group})


def _record_sent(token: UUID, remote_id: str, group: Sequence[Result]) -> None:
    pks = [result.job.pk for result in group]
    stored = any(isinstance(result.outcome, Sent) and result.outcome.stored for result in group)
    ours = Delivery.objects.filter(pk__in=pks, lease_token=token, state=Delivery.State.SENDING)
    done = ours.update(**_accepted(group[0].at, remote_id, stored))
    if done != len(pks):
        for result in group:
            _record_late(result, remote_id, stored)
    _keep_stored(group)


def _accepted(at: datetime, remote_id: str, stored: bool) -> dict[str, object]:
    return {
        "state": Delivery.State.STORED if stored else Delivery.State.SENT,
        "sent_at": at,
        "remote_id": remote_id[:255],
        "last_error": "",
        "begun_at": None,
        "attempts": F("attempts") + 1,
        **CLOSED,
    }


def _record_late(result: Result, remote_id: str, stored: bool) -> None:
    """An acceptance after our lease was taken from us: the message did arrive, so that is recorded.

    Whoever claimed it meanwhile finds its lease gone at the next renewal and skips it if not begun.
    """
    row = Delivery.objects.select_for_update().filter(pk=result.job.pk).first()
    if row is None or (row.remote_id == remote_id and row.sent_at == result.at):
        return
    if row.state in (Delivery.State.SENDING, Delivery.State.SENT):
        Attempt.objects.create(delivery=row, at=result.at, outcome="accepted twice", text=remote_id)
    if row.state not in (Delivery.State.SENT, Delivery.State.STORED):
        Delivery.objects.filter(pk=row.pk, state=row.state).update(**_accepted(result.at, remote_id, stored))
    log.warning("accepted after the lease was lost", extra={"delivery": row.pk})


def _keep_stored(group: Sequence[Result]) -> None:
    messages = [
        MailboxMessage(
            delivery_id=result.job.pk,
            recipient=result.job.row.destination.core[:320],
            subject=_subject(result.outcome.stored),
            stored_at=result.at,
            raw=result.outcome.stored,
        )
        for result in group
        if isinstance(result.outcome, Sent) and result.outcome.stored
    ]
    MailboxMessage.objects.bulk_create(messages, ignore_conflicts=True)


def _subject(raw: bytes) -> str:
    return str(message_from_bytes(raw, policy=policy.default)["Subject"] or "")


def _record_failure(result: Result) -> None:
    outcome, row = result.outcome, result.job.row
    text = getattr(outcome, "text", "")[:MAX_TEXT]
    if isinstance(outcome, Temporary) and outcome.stops_lane:
        _rest_lane(row.lane_id, text, outcome.retry_at, result.at)
    after = _after(result)
    attempts = row.attempts if _is_lanes_fault(outcome) else F("attempts") + 1
    keeps_begun = isinstance(outcome, Ambiguous)
    changed = Delivery.objects.filter(pk=row.pk, lease_token=result.job.token).update(
        state=after.state,
        due_at=after.due_at or row.due_at,
        attempts=attempts,
        last_error=text,
        begun_at=row.begun_at if keeps_begun else None,
        **CLOSED,
    )
    if not changed:
        log.warning("a late failure, not recorded", extra={"delivery": row.pk, "text": text})
        return
    Attempt.objects.create(delivery=row, at=result.at, outcome=type(outcome).__name__.lower(), text=text)
    if isinstance(outcome, Permanent) and outcome.disables:
        _disable(row.destination_id, text, result.at)


def _after(result: Result) -> Next:
    outcome, row = result.outcome, result.job.row
    if isinstance(outcome, Permanent):
        return Next("failed")
    if isinstance(outcome, Ambiguous):
        held = outcome.holds or after_crash(result.crash_policy, now=result.at).state == "held"
        return Next("held") if held else Next("deferred", result.at + timedelta(minutes=1))
    if _is_lanes_fault(outcome):
        return Next("deferred", result.at)
    retry_at = outcome.retry_at if isinstance(outcome, Temporary) else None
    return after_temporary(
        attempts=row.attempts + 1, created_at=row.created_at, retry_at=retry_at, now=result.at
    )


def _is_lanes_fault(outcome: Outcome) -> bool:
    """Nothing of the lane can go now: that is not counted against the message."""
    return isinstance(outcome, Temporary) and outcome.stops_lane


def _rest_lane(lane_id: int, text: str, retry_at: datetime | None, at: datetime) -> None:
    lane = Lane.objects.select_for_update().get(pk=lane_id)
    if lane.failures and lane.free_at is not None and lane.free_at > at:  # another of its connections has said so already
        return
    lane.failures += 1
    lane.last_error = text
    lane.free_at = lane_pause(lane.failures, now=at, retry_at=retry_at)
    lane.save(update_fields=["failures", "last_error", "free_at"])


def _clear_lane_failures(lane_ids: set[int]) -> None:
    if lane_ids:
        Lane.objects.filter(pk__in=lane_ids, failures__gt=0).update(failures=0, last_error="")


def _disable(destination_id: int, text: str, at: datetime) -> None:
    Destination.objects.filter(pk=destination_id, disabled_at=None).update(
        disabled_at=at, disabled_reason=text
    )
