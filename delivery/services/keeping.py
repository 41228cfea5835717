"""Letters that are kept here because there is no mail server yet."""

from collections.abc import Sequence
from datetime import datetime
from email import message_from_bytes, policy

from delivery.channels.base import Outcome, Sent
from delivery.models import MailboxMessage
from delivery.services.claiming import Job

Ended = tuple[Job, Outcome, datetime]


def keep_letters(accepted: Sequence[Ended]) -> None:
    """Keeps the newest copy of what was stored; what went out after all is kept no longer."""
    kept = [
        _message(job, outcome.stored, at)
        for job, outcome, at in accepted
        if isinstance(outcome, Sent) and outcome.stored is not None
    ]
    if kept:
        MailboxMessage.objects.bulk_create(
            kept,
            update_conflicts=True,
            unique_fields=["delivery"],
            update_fields=["recipient", "subject", "stored_at", "raw"],
        )
    stored = {message.delivery_id for message in kept}
    sent = [job.pk for job, _, _ in accepted if job.pk not in stored]
    if sent:
        MailboxMessage.objects.filter(delivery__in=sent).delete()


def _message(job: Job, raw: bytes, at: datetime) -> MailboxMessage:
    subject = message_from_bytes(raw, policy=policy.default)["Subject"]
    return MailboxMessage(
        delivery_id=job.pk,
        recipient=job.row.destination.core[:320],
        subject=str(subject or ""),
        stored_at=at,
        raw=raw,
    )
