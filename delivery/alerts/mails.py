"""Mails to the admins: who gets them. Each gets a mail with the same words."""

import logging
from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth import get_user_model
from django.db.models import Q

from common.ports import channels
from common.ports.channels import InvalidDestination
from delivery.alerts.messages import Alert
from delivery.lanes.lanes import lane_for, mail_to
from delivery.models import Delivery
from subscriptions.models import Destination

log = logging.getLogger(__name__)

ALERTS_PERMISSION = "feeds.view_feed"
BACKEND = "django.contrib.auth.backends.ModelBackend"
MOST_ADMINS = 50
# By the user's key.
Admins = dict[int, Destination]


def queue_alert(
    said: Alert, *, key: str, admins: Admins, now: datetime, more: Mapping[str, list[str]] | None = None
) -> int:
    """Queues a mail to each of the admins, once for each key. Returns how many.

    `more` stays in its context, unseen. The caller has a transaction open.
    """
    context = {**said.context(), **(more or {})}
    rows = [
        mail_to(
            address,
            kind=Delivery.Kind.ALERT,
            key=f"{key}:{user}",
            template="alert",
            context=context,
            now=now,
        )
        for user, address in admins.items()
    ]
    Delivery.objects.bulk_create(rows, ignore_conflicts=True)
    return len(rows)


def alert_recipients(now: datetime) -> Admins:
    """The addresses of users who may see feeds, each address once, by the user's key. Makes new rows."""
    admins = get_user_model().objects.with_perm(ALERTS_PERMISSION, backend=BACKEND)
    staff = admins.filter(Q(is_staff=True) | Q(is_superuser=True)).exclude(email="")
    found: dict[str, tuple[int, Destination]] = {}
    for user in staff.order_by("pk")[:MOST_ADMINS]:
        try:
            parsed = channels.get("email").parse_destination({"email": user.email})
        except InvalidDestination as error:
            log.warning("an admin's address cannot be written to: %s", error)
            continue
        lane_for(kind="email", core=parsed.core)
        address, _ = Destination.objects.get_or_create(
            kind="email",
            core=parsed.core,
            defaults={"label": parsed.label, "config": parsed.config, "added_at": now},
        )
        found.setdefault(address.core, (user.pk, address))
    return dict(found.values())
