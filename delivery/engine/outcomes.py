"""Records outcomes in groups: each guarded by its lease, but for an acceptance, which is always recorded.

While there is no mail server yet, a letter is kept in the mailbox here.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from email import message_from_bytes, policy
from typing import NamedTuple

from django.db import transaction
from django.db.models import F

from common.counters import count
from common.db.leases import RELEASED
from common.text import one_line, without_controls
from delivery.bounces.holdups import HeldLetter, on_holdups
from delivery.bounces.record import lanes_concerned
from delivery.bounces.smtp_refusals import SmtpRefusal, follow_answers, take_answers
from delivery.channels.base import Ambiguous, Holdup, Outcome, Permanent, Sent, Temporary
from delivery.engine.accept import Acceptance, acceptance, record_accepted
from delivery.engine.jobs import Job
from delivery.lanes.backoff import Stop, back_off, well_lanes
from delivery.models import Attempt, Delivery, MailboxMessage
from delivery.rules.meaning import Concern
from delivery.rules.outcomes import LONGEST_RETRY, Next, after_ambiguous, after_temporary
from delivery.rules.server_words import meaning
from subscriptions.models import Destination

Ended = tuple[Job, Outcome, datetime]
MAX_TEXT = 2000


def keep_letters(accepted: Sequence[Ended]) -> None:
    """Keeps what was stored, within the caller's transaction; the newest copy, if there is one already."""
    stored = {
        job.pk: (job, outcome.stored, at)
        for job, outcome, at in accepted
        if isinstance(outcome, Sent) and outcome.stored is not None
    }
    if not stored:
        return
    # A newsletter may have been dropped meanwhile, with its deliveries.
    there = Delivery.objects.filter(pk__in=stored).values_list("pk", flat=True)
    MailboxMessage.objects.bulk_create(
        [_message(*stored[pk]) for pk in there],
        update_conflicts=True,
        unique_fields=["delivery"],
        update_fields=["recipient", "subject", "stored_at", "raw"],
    )


def _message(job: Job, raw: bytes, at: datetime) -> MailboxMessage:
    subject = message_from_bytes(raw, policy=policy.default)["Subject"]
    return MailboxMessage(
        delivery_id=job.pk,
        recipient=job.row.destination.core[:320],
        subject=str(subject or ""),
        stored_at=at,
        raw=raw,
    )


log = logging.getLogger(__name__)


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
    def holdup(self) -> Holdup | None:
        return self.outcome.holdup if isinstance(self.outcome, Temporary) else None

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
    held = [one for result in ours if (one := _held(result)) is not None]
    answers = _answers(ours)
    taken = take_answers(answers)
    _disable(ours)
    back_off(
        stops=[_stop(result) for result in failed if result.stops_lane],
        sent={result.job.row.lane for result in accepted},
        now=max((result.at for result in accepted), default=None),
        also=lanes_concerned(taken) | {one.lane_id for one in held},
    )
    follow_answers(answers, taken)
    on_holdups(held)


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
    ours, lost = [], []
    for result in results:
        row = known.get(result.job.pk)  # (None: its newsletter was dropped meanwhile.)
        after = _after(result, row, result.job.row.lane_id in well) if row else None
        if row and after and _record_failure(result, row, after):
            ours.append(result)
            lost += [result] if after[0].state == Delivery.State.FAILED else []
        else:
            log.warning("a late failure, not recorded", extra={"delivery": result.job.pk})
        if result.is_suspect:
            well.discard(result.job.row.lane_id)
    attempts = [_attempt(result) for result in ours if not result.is_lanes_alone]
    Attempt.objects.bulk_create(attempts)
    transaction.on_commit(lambda: _tell(attempts, lost))
    return ours


def _tell(attempts: Sequence[Attempt], lost: Sequence[Result]) -> None:
    for outcome, number in Counter(attempt.outcome for attempt in attempts).items():
        count("attempts", outcome, number)
    for result in lost:
        about = {"delivery": result.job.pk, "domain": result.job.row.domain}
        log.warning("a delivery failed for good: %s", one_line(_text(result)), extra=about)


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
    holdup = result.holdup
    if holdup is Holdup.DOMAIN or (holdup is Holdup.LETTER and result.job.row.issue_id is not None):
        return Next("queued", result.at), False
    if holdup is Holdup.LETTER:
        return Next("failed"), True
    after = _after_attempt(result, row.attempts + 1, row.created_at)
    if holdup is Holdup.SENDER and after.due_at is None:
        return Next("deferred", result.at + LONGEST_RETRY), True
    return after, True


def _held(result: Result) -> HeldLetter | None:
    if not isinstance(result.outcome, Temporary) or result.outcome.holdup is None:
        return None
    row, outcome = result.job.row, replace(result.outcome, text=_text(result))
    return HeldLetter(
        row.pk, row.issue_id, row.lane_id, row.domain, outcome, result.job.claimed_at, result.at
    )


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
        **RELEASED,
    )
    return bool(changed)


def _after_attempt(result: Result, attempts: int, created_at: datetime) -> Next:
    outcome, now = result.outcome, result.at
    if isinstance(outcome, Ambiguous):
        policy = "hold" if outcome.holds else result.crash_policy
        return after_ambiguous(policy, attempts=attempts, created_at=created_at, now=now)
    if isinstance(outcome, Temporary):
        after = after_temporary(attempts=attempts, created_at=created_at, retry_at=outcome.retry_at, now=now)
        return Next("held") if after.state == "failed" and _is_about_us(result) else after
    return Next("failed")


def _is_about_us(result: Result) -> bool:
    """Whether a mail server put it off because of ourselves: that is for a person, not the reader's end."""
    is_mail = result.job.row.lane.kind == "email"
    return is_mail and meaning(_text(result)).concern is Concern.US


def _text(result: Result) -> str:
    return without_controls(getattr(result.outcome, "text", ""))[:MAX_TEXT]


def _stop(result: Result) -> Stop:
    return Stop(
        lane_id=result.job.row.lane_id,
        text=_text(result),
        retry_at=getattr(result.outcome, "retry_at", None),
        claimed_at=result.job.claimed_at,
        at=result.at,
        is_about_us=getattr(result.outcome, "meaning", None) is not None,
    )


def _answers(results: Sequence[Result]) -> list[SmtpRefusal]:
    """Those in which a server gave a reason, by its code or its words."""
    outcomes = {
        result.job.pk: (result, result.outcome)
        for result in results
        if isinstance(result.outcome, Permanent | Temporary)
        and (result.outcome.status or result.outcome.meaning is not None)
    }
    if not outcomes:
        return []
    rows = Delivery.objects.select_related("destination", "subscription", "issue")
    found = rows.defer("issue__html", "issue__text", "context").in_bulk(list(outcomes))
    return [
        SmtpRefusal(found[pk], result.job.token, replace(outcome, text=_text(result)), result.at)
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
        state=Delivery.State.HELD, last_error=without_controls(reason)[:MAX_TEXT], **RELEASED
    )
