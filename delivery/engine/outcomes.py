"""Records outcomes in groups, guarded by the lease, except acceptances, which always count."""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from email import policy
from email.parser import BytesHeaderParser
from functools import partial
from typing import TypeVar

from django.db import connection, transaction
from django.db.models import F

from channels import channel
from channels.base import Ambiguous, CrashPolicy, Holdup, Permanent, Sent, Temporary
from channels.rules.meaning import Concern
from channels.rules.server_words import meaning
from common.counters import count
from common.db.leases import RELEASED
from common.text import one_line, without_controls
from delivery.bounces.domain_refusals import HeldLetter, on_holdups
from delivery.bounces.record import SmtpRefusal, follow_answers, lanes_concerned, take_answers
from delivery.engine.accept_sql import STATEMENTS, STOPPED_ISSUE, AcceptedRow, parameters, remote_id_of
from delivery.engine.send_task import ClaimedDelivery, SendTask
from delivery.lanes.lanes import Stop, back_off, count_refusals, well_lanes
from delivery.models import Attempt, Delivery, Lane, MailboxMessage, RemotePost
from delivery.rules.limits import HEAD_WAITS
from delivery.rules.outcomes import (
    GIVE_UP,
    LANE_LONGEST,
    LONGEST_RETRY,
    UNKNOWN_END_RETRIES,
    Next,
    after_ambiguous,
    after_temporary,
    rest_in_order,
    when_unsure,
)
from subscriptions.models import Destination

log = logging.getLogger(__name__)
MAY_HAVE_ARRIVED = "Held: it may have arrived, so it is not sent again automatically."
R = TypeVar("R", MailboxMessage, Attempt, RemotePost)

# Characters kept of a server's answer.
LONGEST_OUTCOME_TEXT = 2000


@transaction.atomic
def record_outcomes(tasks: Sequence[SendTask]) -> None:
    """Record outcomes in one transaction. Can be repeated after a failed commit.

    Locks deliveries, then destinations, lanes and services, as everywhere.
    """
    tasks = sorted(tasks, key=lambda task: task.pk)
    accepted = [task for task in tasks if isinstance(task.outcome, Sent)]
    failed = [task for task in tasks if not isinstance(task.outcome, Sent)]
    record_accepted(accepted)
    ours, rests = _record_failed(failed)
    keep_letters(accepted)
    keep_remote(accepted, ours)
    keep_remarks(accepted)
    held = []
    for task in ours:
        if isinstance(task.outcome, Temporary) and task.outcome.holdup is not None:
            row, outcome = task.delivery, replace(task.outcome, text=_text(task))
            facts = (row.pk, row.issue_id, row.lane.pk, row.domain)
            held.append(HeldLetter(*facts, outcome, row.claimed_at, task.at))
    answers = _answers(ours)
    taken = take_answers(answers)
    for task in sorted(ours, key=lambda task: task.delivery.destination_id):
        if isinstance(task.outcome, Permanent) and task.outcome.disables:
            Destination.objects.filter(pk=task.delivery.destination_id, disabled_at=None).update(
                disabled_at=task.at, disabled_reason=_text(task)
            )
    stops = rests + [
        _stop(task, lane_id, task.outcome.retry_at)
        for task in failed
        if isinstance(task.outcome, Temporary)
        for lane_id in _stopped(task.outcome, task.delivery.lane)
    ]
    # Nothing was posted, so the pause after a message does not begin.
    for task in ours:
        if isinstance(task.outcome, Temporary) and task.outcome.waits:
            Lane.objects.filter(pk=task.delivery.lane.pk, failures=0).update(free_at=_waits_until(task))
    lanes = {
        task.delivery.lane
        for task in accepted
        # Edits of old posts may be accepted where new ones are refused.
        if task.delivery.lane.refused_since is None or task.delivery.kind not in Delivery.CHANGES
    }
    back_off(
        stops=stops,
        sent=lanes | {lane.parent for lane in lanes if lane.parent is not None},
        now=max((task.at for task in accepted), default=None),
        also=lanes_concerned(taken) | {one.lane_id for one in held},
    )
    follow_answers(answers, taken)
    on_holdups(held)
    _count_refusals(tasks)


def _count_refusals(tasks: Sequence[SendTask]) -> None:
    refused = [task for task in tasks if task.refusals]
    refusals: Counter[str] = Counter()
    for task in refused:
        refusals[task.delivery.lane.kind] += task.refusals
    if refused:
        count_refusals(refusals, said=_text(refused[-1]), now=max(task.at for task in refused))


def _stopped(outcome: Temporary, lane: Lane) -> Iterator[int]:
    if outcome.stops_account and lane.parent_id is not None:
        yield lane.parent_id
    elif outcome.stops_lane or outcome.stops_account:
        yield lane.pk


def _stop(task: SendTask, lane_id: int, retry_at: datetime | None) -> Stop:
    is_forbidden = isinstance(task.outcome, Temporary) and task.outcome.forbidden
    return Stop(
        lane_id=lane_id,
        text=_text(task),
        retry_at=retry_at,
        claimed_at=task.delivery.claimed_at,
        at=task.at,
        is_about_us=getattr(task.outcome, "meaning", None) is not None or is_forbidden,
        is_forbidden=is_forbidden,
        slows=getattr(task.outcome, "suspect", False),
    )


def _waits_until(task: SendTask) -> datetime | None:
    """Return until when a serial lane waits for the rest of a post, so that no later one passes it."""
    again = getattr(task.outcome, "retry_at", None)
    is_short = again is not None and again - task.at <= LANE_LONGEST
    return again if task.delivery.lane.serial and is_short else None


def is_plain(task: SendTask) -> bool:
    """Whether the acceptance has nothing else to record."""
    sent = task.outcome
    assert isinstance(sent, Sent)  # noqa: S101 - for the type checker
    more = (sent.url, sent.parts, sent.remark, task.new_state, task.progress, task.refusals)
    return sent.stored is None and not any(more)


def _record_failed(tasks: Sequence[SendTask]) -> tuple[list[SendTask], list[Stop]]:
    """Return the tasks that were still ours and the rests of serial lanes.

    The first message that stops a healthy lane is counted, as it may be the cause. Late failures are only
    logged.
    """
    suspects = {task.delivery.lane.pk for task in tasks if _is_suspect(task)}
    well = well_lanes(suspects)
    rows = Delivery.objects.only("attempts", "created_at", "due_at", "begun_at", "last_error")
    known = rows.in_bulk([task.pk for task in tasks])
    unknown_ends = _unknown_ends(tasks)
    ours, rests, lost, attempts = [], [], [], []
    for task in tasks:
        row = known.get(task.pk)
        ends = unknown_ends[task.pk]
        # None: its newsletter was deleted meanwhile.
        ending = _ending(task, row, task.delivery.lane.pk in well, ends) if row else (None, False, None)
        becomes, counts, rests_until = ending
        is_lanes_alone = _is_lanes_alone(task)
        is_ours = 0
        if row and becomes:
            # It stays unknown until a session has dealt with it.
            unknown = row.begun_at if isinstance(task.outcome, Ambiguous) else None
            was_dealt_with = task.begun and not is_lanes_alone
            is_ours = Delivery.objects.filter(
                pk=row.pk, lease_token=task.delivery.token, state=Delivery.State.SENDING
            ).update(
                state=becomes.state,
                due_at=becomes.due_at or row.due_at,
                attempts=F("attempts") + int(counts),
                last_error=row.last_error if is_lanes_alone else _last_error(task, becomes, ends),
                begun_at=unknown if was_dealt_with else task.delivery.begun_before,
                **RELEASED,
            )
        if becomes and is_ours:
            ours.append(task)
            if rests_until is not None:
                rests.append(_stop(task, task.delivery.lane.pk, rests_until))
            if becomes.state == Delivery.State.FAILED:
                lost.append(task)
            if not is_lanes_alone and becomes.state != Delivery.State.CANCELLED:
                kind, status = type(task.outcome).__name__.lower(), getattr(task.outcome, "status", "")
                facts = {"outcome": kind, "status": status, "text": _text(task)}
                attempts.append(Attempt(delivery_id=task.pk, at=task.at, **facts))
        else:
            log.warning("a late failure, not recorded", extra={"delivery": task.pk})
        if _is_suspect(task):
            well.discard(task.delivery.lane.pk)
    Attempt.objects.bulk_create(attempts)
    transaction.on_commit(partial(_tell, attempts, lost))
    return ours, rests


def _unknown_ends(tasks: Sequence[SendTask]) -> Counter[int]:
    unknown = [task.pk for task in tasks if isinstance(task.outcome, Ambiguous)]
    if not unknown:
        return Counter()
    earlier = Attempt.objects.filter(delivery__in=unknown, outcome=Ambiguous.__name__.lower())
    return Counter(unknown) + Counter(earlier.values_list("delivery_id", flat=True))


def _last_error(task: SendTask, becomes: Next, unknown_ends: int) -> str:
    is_over = becomes.state == Delivery.State.HELD and unknown_ends > len(UNKNOWN_END_RETRIES)
    return cleaned(f"{_text(task)} {MAY_HAVE_ARRIVED}") if is_over else _text(task)


def _tell(attempts: Sequence[Attempt], lost: Sequence[SendTask]) -> None:
    for outcome, number in Counter(attempt.outcome for attempt in attempts).items():
        count("attempts", outcome, number)
    for task in lost:
        about = {"delivery": task.pk, "domain": task.delivery.domain}
        log.warning("a delivery failed for good: %s", one_line(_text(task)), extra=about)


def _is_suspect(task: SendTask) -> bool:
    outcome = task.outcome
    return isinstance(outcome, Temporary) and outcome.stops_lane and outcome.suspect


def _is_lanes_alone(task: SendTask) -> bool:
    """Whether the lane stopped before the message played a part: no connection, no login."""
    outcome = task.outcome
    return (
        isinstance(outcome, Temporary)
        and (outcome.stops_lane or outcome.stops_account)
        and not outcome.suspect
    )


def _ending(
    task: SendTask, row: Delivery, is_lane_well: bool, unknown_ends: int
) -> tuple[Next, bool, datetime | None]:
    """Return the next state, whether the attempt counts, and until when its serial lane waits for it."""
    becomes, counts = _after(task, row, is_lane_well, unknown_ends)
    outcome, at = task.outcome, task.at
    if not task.delivery.lane.serial or becomes.state != "deferred" or getattr(outcome, "waits", False):
        return becomes, counts, None
    if isinstance(outcome, Temporary) and outcome.stops_lane:
        # The lane rests anyway.
        return Next(becomes.state, at), counts, None
    named = getattr(outcome, "retry_at", None)
    rest = rest_in_order(becomes, attempts=row.attempts + 1, retry_at=named, now=at)
    return Next(becomes.state, at) if rest else becomes, counts, rest


def _after(task: SendTask, row: Delivery, is_lane_well: bool, unknown_ends: int) -> tuple[Next, bool]:
    outcome, at = task.outcome, task.at
    attempts, created_at = row.attempts + 1, row.created_at
    if isinstance(outcome, Ambiguous):
        policy = _policy_when_unsure(task, outcome)
        is_mail = task.delivery.lane.kind == "email"
        after = after_ambiguous(
            policy,
            attempts=attempts,
            created_at=created_at,
            now=at,
            unknown_ends=unknown_ends if is_mail else 0,
        )
        return after, True
    if isinstance(outcome, Permanent) and outcome.needless:
        return Next("cancelled"), False
    if not isinstance(outcome, Temporary):
        return Next("failed"), True
    if _is_lanes_alone(task):
        return Next("queued"), False
    if outcome.waits and outcome.retry_at is not None and outcome.retry_at - created_at < GIVE_UP:
        return Next("deferred", outcome.retry_at), False
    if outcome.stops_lane and not is_lane_well:
        # A serial lane's other posts wait for this one, so it has to end some day.
        if not task.delivery.lane.serial or at - created_at < HEAD_WAITS:
            return Next("deferred", at), False
        after = after_temporary(attempts=attempts, created_at=created_at, retry_at=None, now=at)
        return after, True
    is_letters = outcome.holdup is Holdup.LETTER
    if outcome.holdup is Holdup.DOMAIN or (is_letters and task.delivery.issue_id is not None):
        return Next("queued", at), False
    if is_letters:
        return Next("failed"), True
    after = after_temporary(attempts=attempts, created_at=created_at, retry_at=outcome.retry_at, now=at)
    # A mail server that defers because of us needs a person.
    is_mail = task.delivery.lane.kind == "email"
    if after.state == "failed" and is_mail and meaning(_text(task)).concern is Concern.US:
        after = Next("held")
    if outcome.holdup is Holdup.SENDER and after.due_at is None:
        return Next("deferred", at + LONGEST_RETRY), True
    return after, True


def _policy_when_unsure(task: SendTask, outcome: Ambiguous) -> str:
    if task.delivery.kind in Delivery.CHANGES:
        # Repeating it is harmless.
        return CrashPolicy.LOOK_UP.value
    options = task.prepared.letter.options if task.prepared else {}
    policy = "hold" if outcome.holds else channel(task.delivery.lane.kind).crash_policy.value
    return when_unsure(policy, options.get("when_unsure", ""))


def _text(task: SendTask) -> str:
    return cleaned(getattr(task.outcome, "text", ""))


def _answers(tasks: Sequence[SendTask]) -> list[SmtpRefusal]:
    outcomes = {
        task.pk: (task, task.outcome)
        for task in tasks
        if isinstance(task.outcome, Permanent | Temporary)
        and (task.outcome.status or task.outcome.meaning is not None)
    }
    if not outcomes:
        return []
    rows = Delivery.objects.select_related("destination", "subscription", "issue")
    found = rows.defer("issue__html", "issue__text", "context").in_bulk(list(outcomes))
    return [
        SmtpRefusal(found[pk], task.delivery.token, replace(outcome, text=_text(task)), task.at)
        for pk, (task, outcome) in outcomes.items()
        if pk in found
    ]


def hold_unrecorded(*, row: ClaimedDelivery, reason: str) -> None:
    """End a claim whose outcome cannot be recorded, for a person to check."""
    ours = Delivery.objects.filter(pk=row.pk, lease_token=row.token, state=Delivery.State.SENDING)
    words = cleaned(reason)
    ours.update(state=Delivery.State.HELD, last_error=words, **RELEASED)


def keep_letters(accepted: Sequence[SendTask]) -> None:
    """Store mailbox letters, replacing older copies."""
    headers = BytesHeaderParser(policy=policy.default)
    stored = {
        task.pk: MailboxMessage(
            delivery_id=task.pk,
            recipient=task.delivery.destination.core[:320],
            subject=str(headers.parsebytes(raw)["Subject"] or ""),
            stored_at=task.at,
            raw=raw,
        )
        for task in accepted
        if isinstance(task.outcome, Sent) and (raw := task.outcome.stored) is not None
    }
    MailboxMessage.objects.bulk_create(
        _still_there(stored),
        update_conflicts=True,
        unique_fields=["delivery"],
        update_fields=["recipient", "subject", "stored_at", "raw"],
    )


def keep_remarks(accepted: Sequence[SendTask]) -> None:
    """Record refused parts of existing posts as attempts."""
    said = {
        task.pk: Attempt(delivery_id=task.pk, at=task.at, outcome="in part", text=cleaned(sent.remark))
        for task in accepted
        if isinstance(sent := task.outcome, Sent) and sent.remark
    }
    Attempt.objects.bulk_create(_still_there(said))


def _still_there(rows: Mapping[int, R]) -> list[R]:
    """Leave out rows of deliveries that were deleted with their newsletter."""
    there = Delivery.objects.filter(pk__in=rows).values_list("pk", flat=True) if rows else ()
    return [rows[pk] for pk in there]


def keep_remote(accepted: Sequence[SendTask], failed: Sequence[SendTask]) -> None:
    kept = {
        task.pk: RemotePost(delivery_id=task.pk, url=task.outcome.url, parts=list(task.outcome.parts))
        for task in accepted
        if isinstance(task.outcome, Sent) and (task.outcome.url or task.outcome.parts or task.progress)
    }
    for task in failed:
        if isinstance(task.outcome, Temporary | Ambiguous) and task.outcome.progress is not None:
            kept[task.pk] = RemotePost(delivery_id=task.pk, progress=dict(task.outcome.progress))
    RemotePost.objects.bulk_create(
        _still_there(kept),
        update_conflicts=True,
        unique_fields=["delivery"],
        update_fields=["url", "parts", "progress"],
    )
    for task in (*accepted, *failed):
        if task.new_state is not None:
            Lane.objects.filter(pk=task.delivery.lane.pk).update(state=dict(task.new_state))


def cleaned(text: str) -> str:
    return without_controls(text)[:LONGEST_OUTCOME_TEXT]


def record_accepted(tasks: Sequence[SendTask]) -> None:
    """Record acceptances, even when the lease was lost: the message did arrive.

    Can be repeated after a failed commit. Marks tasks of paused or cancelled issues as `recalled`.
    """
    if not tasks:
        return
    written: dict[datetime, str] = {}
    rows = []
    for task in tasks:
        outcome = task.outcome
        assert isinstance(outcome, Sent)  # noqa: S101 - for the type checker
        if task.at not in written:
            written[task.at] = str(connection.ops.adapt_datetimefield_value(task.at))
        state = Delivery.State.SENT if outcome.stored is None else Delivery.State.STORED
        name = remote_id_of(outcome.remote_id)
        rows.append(AcceptedRow(task.pk, task.delivery.token.hex, written[task.at], name, state.value))
    with connection.cursor() as cursor:
        cursor.execute(STATEMENTS[connection.vendor], parameters(connection.vendor, rows))
        are_all_ours = cursor.rowcount == len(rows)
        for issue in {task.issue for task in tasks if task.issue is not None}:
            cursor.execute(STOPPED_ISSUE, [issue])
            if cursor.fetchone():
                for task in tasks:
                    task.recalled |= task.issue == issue
    if not are_all_ours:
        _record_late({row.id: (task.at, row) for task, row in zip(tasks, rows, strict=True)})


@transaction.atomic
def _record_late(accepted: Mapping[int, tuple[datetime, AcceptedRow]]) -> None:
    """A worker that claimed a row meanwhile loses its lease at the next renewal."""
    for row in Delivery.objects.select_for_update(no_key=True).filter(pk__in=accepted).order_by("pk"):
        at, ours = accepted[row.pk]
        if (row.remote_id, row.sent_at) == (ours.remote_id, at):
            continue  # recorded already, perhaps by a commit whose answer was lost
        log.warning("accepted after the lease was lost", extra={"delivery": row.pk})
        if row.state in (Delivery.State.SENDING, Delivery.State.SENT):
            Attempt.objects.create(delivery=row, at=at, outcome="accepted twice", text=ours.remote_id)
        if row.state not in (Delivery.State.SENT, Delivery.State.STORED):
            Delivery.objects.filter(pk=row.pk, state=row.state).update(
                state=ours.state,
                sent_at=at,
                remote_id=ours.remote_id,
                last_error="",
                held_for="",
                begun_at=None,
                attempts=F("attempts") + 1,
                **RELEASED,
            )
