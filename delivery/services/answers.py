"""What follows from a mail server's refusals, beyond the delivery itself: as if a report had come back."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from delivery.bounces.parsing import Finding
from delivery.channels.base import Permanent, Temporary
from delivery.models import Delivery
from delivery.rules.bounce_policy import Kind, is_no_such_address
from delivery.rules.refusals import is_about_identity, is_refusal
from delivery.services.bounce_history import Together
from delivery.services.bouncing import Taken, follow_up, take_down
from delivery.services.refusals import heed_refused_sender


@dataclass(frozen=True, slots=True)
class Answer:
    """A refusal with an enhanced code, of a delivery that was claimed with this token."""

    delivery: Delivery
    token: UUID
    outcome: Permanent | Temporary
    at: datetime

    @property
    def kind(self) -> Kind | None:
        """What a report would say; None where the delivery alone is concerned."""
        if not isinstance(self.outcome, Permanent):
            return None
        if is_no_such_address(self.outcome.status, self.outcome.text):
            return Kind.HARD
        return Kind.POLICY if is_refusal(self.outcome.status) else None

    @property
    def digest(self) -> str:
        """The same for the same attempt, however often it is recorded."""
        return hashlib.sha256(f"answer:{self.delivery.pk}:{self.token}".encode()).hexdigest()


def take_answers(answers: Iterable[Answer]) -> list[Taken]:
    """Records those that are about the address or about us, within the caller's transaction.

    Locks destinations, in order.
    """
    together = Together()
    ordered = sorted(answers, key=lambda answer: answer.delivery.destination_id)
    return [_take(answer, answer.kind, together) for answer in ordered if answer.kind]


def follow_answers(answers: Sequence[Answer], taken: Sequence[Taken]) -> None:
    """Pauses what has to be paused; after it, the caller may lock neither destinations nor lanes."""
    if taken:
        follow_up(taken=taken, now=max(answer.at for answer in answers))
    for answer in answers:
        if isinstance(answer.outcome, Temporary) and is_about_identity(answer.outcome.status):
            heed_refused_sender(delivery=answer.delivery, said=answer.outcome.text, now=answer.at)


def _take(answer: Answer, kind: Kind, together: Together) -> Taken:
    address = answer.delivery.destination.core
    return take_down(
        delivery=answer.delivery,
        finding=Finding(kind, (address,), answer.outcome.status, answer.outcome.text),
        digest=answer.digest,
        now=answer.at,
        tried_at=answer.at,
        together=together,
    )
