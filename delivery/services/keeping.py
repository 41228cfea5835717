"""Letters that are kept here because there is no mail server yet."""

from collections.abc import Sequence
from datetime import datetime
from email import message_from_bytes, policy

from delivery.channels.base import Outcome, Sent
from delivery.models import Delivery, MailboxMessage
from delivery.services.claiming import Job

Ended = tuple[Job, Outcome, datetime]


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
