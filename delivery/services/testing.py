"""Test mails, through the ledger like everything else."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import transaction

from common import kinds
from delivery.models import Delivery, Issue
from delivery.rendering.sources import Source
from delivery.services.lanes import domain_of, lane_for
from subscriptions.models import Destination, Subscribable

FIRST = 1


def send_test_email(*, to: str, now: datetime, account: str = "") -> Delivery:
    """Queues a short test message, through that mail account (none: EMAIL_URL).

    Raises InvalidDestination for an address that is none, or an account that there is not.
    """
    options = kinds.get("email").parse_options({"account": account})
    return _queue(to=to, template="test", context={}, options=options, now=now)


def send_test_issue(*, subscribable: Subscribable, to: str, now: datetime) -> Delivery:
    """Queues the newsletter as it would look now, with its newest posts. Raises InvalidDestination."""
    context = {"subscribable": subscribable.pk}
    return _queue(to=to, template="", context=context, options=subscribable.options, now=now)


def send_test_of_issue(*, issue: Issue, to: str, now: datetime) -> Delivery:
    """Queues an issue that may still wait for approval, to one address. Raises InvalidDestination."""
    context = {"subscribable": issue.subscribable_id, "issue": issue.pk}
    return _queue(to=to, template="", context=context, options=issue.subscribable.options, now=now)


def send_test_letter(
    *, subscribable: Subscribable, name: str, source: Source | None = None, to: str, now: datetime
) -> Delivery:
    """Queues one of the newsletter's mails, such as mails/welcome, by `source` if that is given.

    Raises InvalidDestination.
    """
    context: dict[str, Any] = {"subscribable": subscribable.pk, "template": name}
    if source is not None:
        context["source"] = asdict(source)
    return _queue(to=to, template="", context=context, options=subscribable.options, now=now)


@transaction.atomic
def _queue(
    *, to: str, template: str, context: dict[str, Any], options: Mapping[str, str], now: datetime
) -> Delivery:
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
        lane=lane_for(kind="email", core=parsed.core, options=options),
        domain=domain_of(kind="email", core=parsed.core),
        priority=FIRST,
        created_at=now,
        due_at=now,
    )
