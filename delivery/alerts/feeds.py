"""Mails to the admins: a feed has been failing for a day, is gone, can be read again. Each once."""

import hashlib
import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from common.ports.events import EventKind
from delivery.alerts.mails import Admins, queue_alert, recipients
from delivery.alerts.messages import alert
from delivery.models import Delivery
from delivery.webhooks.outbox import is_anybody_listening
from feeds.items.alerts import how_many_fail, is_any_wanting, mark_alerted, wanting
from feeds.models import Feed
from feeds.rules.alerts import GAP, What, may_tell

log = logging.getLogger(__name__)

STAMP = "%Y%m%dT%H%M%S"


def tell_admins(*, now: datetime) -> int:
    """Queues the mails that are due. Returns how many.

    While no admin has an e-mail address, and no webhook is told either, nothing is taken as told.
    """
    if not is_any_wanting(now):
        return 0
    # Before the transaction: rows that two workers make at once would let one wait for the other.
    admins = recipients(now)
    if not admins and not is_anybody_listening(EventKind.FAILING):
        log.info("feeds are failing or gone, and no admin has an e-mail address to be told at")
        return 0
    with transaction.atomic():
        return sum(_tell(what, feeds, admins, now) for what, feeds in wanting(now).items())


def _tell(what: What, feeds: list[Feed], admins: Admins, now: datetime) -> int:
    if not may_tell(_last_told(what, now), now):
        return 0
    said = alert(what, sorted(feeds, key=_oldest_first(now)), fail=how_many_fail(), now=now)
    key = key_of(what, feeds)
    count = queue_alert(said, key=key, admins=admins, now=now)
    mark_alerted(feeds=feeds, what=what, now=now)
    return count


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
