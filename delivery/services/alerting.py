"""Mails to the admins: a feed has been failing for a day, is gone, can be read again. Each once."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import Q

from common import kinds
from common.events import Kind
from common.kinds import InvalidDestination
from delivery.models import Delivery
from delivery.services.alert_words import Alert, alert
from delivery.services.lanes import domain_of, lane_for
from delivery.services.noting_events import is_anybody_listening
from feeds.models import Feed
from feeds.rules.alerts import GAP, What, may_tell
from feeds.services.alerting import how_many_fail, is_any_wanting, mark_alerted, wanting
from subscriptions.models import Destination

log = logging.getLogger(__name__)

FIRST = 1
PERMISSION = "feeds.view_feed"
BACKEND = "django.contrib.auth.backends.ModelBackend"
MOST_ADMINS = 50
STAMP = "%Y%m%dT%H%M%S"


def tell_admins(*, now: datetime) -> int:
    """Queues the mails that are due. Returns how many.

    While no admin has an e-mail address, and no webhook is told either, nothing is taken as told.
    """
    if not is_any_wanting(now):
        return 0
    # Before the transaction: rows that two workers make at once would let one wait for the other.
    admins = recipients(now)
    if not admins and not is_anybody_listening(Kind.FAILING):
        log.info("feeds are failing or gone, and no admin has an e-mail address to be told at")
        return 0
    with transaction.atomic():
        return sum(_tell(what, feeds, admins, now) for what, feeds in wanting(now).items())


def _tell(what: What, feeds: list[Feed], admins: dict[int, Destination], now: datetime) -> int:
    if not may_tell(_last_told(what, now), now):
        return 0
    said = alert(what, sorted(feeds, key=_oldest_first(now)), fail=how_many_fail(), now=now)
    key = key_of(what, feeds)
    rows = [delivery(said, f"{key}:{user}", address, now) for user, address in admins.items()]
    Delivery.objects.bulk_create(rows, ignore_conflicts=True)
    mark_alerted(feeds=feeds, what=what, now=now)
    return len(rows)


def _oldest_first(now: datetime) -> Any:
    return lambda feed: (feed.failing_since or now, feed.pk)


def key_of(what: What, feeds: Sequence[Feed]) -> str:
    """The same feeds in the same trouble have the same key: a mail about them is queued once."""
    if len(feeds) == 1:
        return f"feed:{feeds[0].pk}:{_since(what, feeds[0])}:{what}"
    parts = sorted(f"{feed.pk}:{_since(what, feed)}" for feed in feeds)
    return f"feeds:{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:40]}:{what}"


def _since(what: What, feed: Feed) -> str:
    """What tells this time from the next: when it began to fail; when it was told, for a recovery."""
    moment = feed.alerted_at if what == "recovered" else feed.failing_since
    return f"{moment:{STAMP}}" if moment else ""


def _last_told(what: What, now: datetime) -> datetime | None:
    lately = Delivery.objects.filter(kind=Delivery.Kind.ALERT, issue=None, created_at__gt=now - GAP)
    rows = lately.filter(key__contains=f":{what}:").order_by("-created_at")
    return rows.values_list("created_at", flat=True).first()


def recipients(now: datetime) -> dict[int, Destination]:
    """The addresses, each once, of who may see feeds and has one, by the user's key. Makes new ones."""
    admins = get_user_model().objects.with_perm(PERMISSION, backend=BACKEND)
    staff = admins.filter(Q(is_staff=True) | Q(is_superuser=True)).exclude(email="")
    found: dict[str, tuple[int, Destination]] = {}
    for user in staff.order_by("pk")[:MOST_ADMINS]:
        address = _destination(user.email, now)
        if address is not None:
            found.setdefault(address.core, (user.pk, address))
    return dict(found.values())


def _destination(email: str, now: datetime) -> Destination | None:
    try:
        parsed = kinds.get("email").parse_destination({"email": email})
    except InvalidDestination as error:
        log.warning("an admin's address cannot be written to: %s", error)
        return None
    lane_for(kind="email", core=parsed.core)
    address, _ = Destination.objects.get_or_create(
        kind="email",
        core=parsed.core,
        defaults={"label": parsed.label, "config": parsed.config, "added_at": now},
    )
    return address


def delivery(
    said: Alert, key: str, address: Destination, now: datetime, more: Mapping[str, list[str]] | None = None
) -> Delivery:
    """The mail to one of them, not saved. `more` stays in its context, unseen."""
    return Delivery(
        kind=Delivery.Kind.ALERT,
        key=key,
        destination=address,
        template="alert",
        context={**said.context(), **(more or {})},
        lane=lane_for(kind=address.kind, core=address.core),
        domain=domain_of(kind=address.kind, core=address.core),
        priority=FIRST,
        created_at=now,
        due_at=now,
    )
