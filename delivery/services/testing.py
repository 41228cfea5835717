"""Test mails, through the ledger like everything else."""

import uuid
from datetime import datetime

from django.db import transaction

from common import kinds
from delivery.models import Delivery
from delivery.services.lanes import domain_of, lane_for
from subscriptions.models import Destination, Subscribable

FIRST = 1


def send_test_email(*, to: str, now: datetime) -> Delivery:
    """Queues a short test message. Raises InvalidDestination for an address that is none."""
    return _queue(to=to, template="test", context={}, now=now)


def send_test_issue(*, subscribable: Subscribable, to: str, now: datetime) -> Delivery:
    """Queues the newsletter as it would look now, with its newest posts. Raises InvalidDestination."""
    return _queue(to=to, template="", context={"subscribable": subscribable.pk}, now=now)


@transaction.atomic
def _queue(*, to: str, template: str, context: dict[str, int], now: datetime) -> Delivery:
    parsed = kinds.get("email").parse_destination({"email": to})
    destination, _ = Destination.objects.get_or_create(
        kind="email",
        core=parsed.core,
        defaults={"label": parsed.label, "config": parsed.config, "added_at": now},
    )
    return Delivery.objects.create(
        kind=Delivery.Kind.TEST,
        key=uuid.uuid4().hex,
        destination=destination,
        template=template,
        context=context,
        lane=lane_for(kind="email", core=parsed.core),
        domain=domain_of(kind="email", core=parsed.core),
        priority=FIRST,
        created_at=now,
        due_at=now,
    )
