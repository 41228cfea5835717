"""Stores results of channels: mailbox letters, addresses and parts of posts, remarks.

All in the transaction of record_outcomes.
"""

from collections.abc import Mapping, Sequence
from email import policy
from email.parser import BytesHeaderParser
from typing import TypeVar

from channels.base import Ambiguous, Sent, Temporary
from common.text import without_controls
from delivery.engine.send_task import SendTask
from delivery.models import Attempt, Delivery, Lane, MailboxMessage, RemotePost

R = TypeVar("R", MailboxMessage, Attempt, RemotePost)

# Characters kept of a server's answer.
LONGEST_OUTCOME_TEXT = 2000


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
