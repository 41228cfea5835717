"""SMTP refusals, handled like bounces besides their effect on the delivery."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from channels.base import Holdup, Permanent, Temporary
from channels.rules.meaning import Concern
from channels.rules.refusals import is_about_identity, is_refusal
from delivery.bounces.domain_refusals import on_refused_sender
from delivery.bounces.fields import BounceFinding
from delivery.bounces.history import KnownDomains
from delivery.bounces.record import Taken, follow_up, take_down
from delivery.models import Delivery
from delivery.rules.bounce_policy import BounceKind, is_no_such_address

_OF_READER = {Concern.ADDRESS: BounceKind.HARD, Concern.MAILBOX: BounceKind.SOFT}


@dataclass(frozen=True, slots=True)
class SmtpRefusal:
    """Refusal with an enhanced code or plain words; `token`: the claim's."""

    delivery: Delivery
    token: UUID
    outcome: Permanent | Temporary
    at: datetime

    @property
    def kind(self) -> BounceKind | None:
        """Return the kind of bounce, or None if only the delivery is concerned."""
        outcome = self.outcome
        policy = BounceKind.POLICY if is_refusal(outcome.status) else None
        if isinstance(outcome, Temporary):
            return policy if outcome.holdup is Holdup.DOMAIN else None
        if outcome.meaning is not None:
            return _OF_READER.get(outcome.meaning.concern, policy)
        return BounceKind.HARD if is_no_such_address(outcome.status, outcome.text) else policy

    @property
    def digest(self) -> str:
        return hashlib.sha256(f"answer:{self.delivery.pk}:{self.token}".encode()).hexdigest()


def take_answers(answers: Iterable[SmtpRefusal]) -> list[Taken]:
    """Record refusals in the caller's transaction. Locks destinations, in order."""
    known_domains = KnownDomains()
    ordered = sorted(answers, key=lambda answer: answer.delivery.destination_id)
    return [
        take_down(
            delivery=answer.delivery,
            finding=BounceFinding(
                answer.kind, (answer.delivery.destination.core,), answer.outcome.status, answer.outcome.text
            ),
            digest=answer.digest,
            now=answer.at,
            tried_at=answer.at,
            known_domains=known_domains,
        )
        for answer in ordered
        if answer.kind
    ]


def follow_answers(answers: Sequence[SmtpRefusal], taken: Sequence[Taken]) -> None:
    """Apply pauses. Lock no destination or lane afterwards."""
    if taken:
        follow_up(taken=taken, now=max(answer.at for answer in answers))
    for answer in answers:
        outcome = answer.outcome
        # One domain's doubts are not enough.
        is_servers = isinstance(outcome, Temporary) and outcome.holdup is not Holdup.DOMAIN
        if is_servers and is_about_identity(outcome.status):
            on_refused_sender(delivery=answer.delivery, said=answer.outcome.text, now=answer.at)
