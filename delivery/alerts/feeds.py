"""Mails to admins about feeds that failed for a day, are gone or recovered: each once."""

import hashlib
import logging
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from common.ports.events import EventKind
from delivery.alerts.messages import alert_recipients, feeds_alert, queue_alert
from delivery.models import Delivery
from delivery.webhooks.outbox import is_anybody_listening
from feeds.items.alerts import how_many_fail, is_any_wanting, mark_alerted, wanting
from feeds.models import Feed
from feeds.rules.alerts import GAP, What, may_tell

log = logging.getLogger(__name__)

FEED_STAMP = "%Y%m%dT%H%M%S"


def tell_admins(*, now: datetime) -> int:
    """Queue due mails. Return how many.

    Nothing counts as reported without an admin's address and without such a webhook.
    """
    if not is_any_wanting(now):
        return 0
    # Creates rows: within the transaction, a second worker would wait.
    admins = alert_recipients(now)
    if not admins and not is_anybody_listening(EventKind.FAILING):
        log.info("feeds are failing or gone, and no admin has an email address for alerts")
        return 0
    with transaction.atomic():
        count = 0
        for what, feeds in wanting(now).items():
            lately = Delivery.objects.filter(kind=Delivery.Kind.ALERT, issue=None, created_at__gt=now - GAP)
            told = lately.filter(key__contains=f":{what}:").order_by("-created_at")
            if not may_tell(told.values_list("created_at", flat=True).first(), now):
                continue
            oldest_first = sorted(feeds, key=lambda feed: (feed.failing_since or now, feed.pk))
            said = feeds_alert(what, oldest_first, fail=how_many_fail(), now=now)
            count += queue_alert(said, key=alert_key(what, feeds), admins=admins, now=now)
            mark_alerted(feeds=feeds, what=what, now=now)
        return count


def alert_key(what: What, feeds: Sequence[Feed]) -> str:
    """Return the same key for the same feeds and trouble, to queue one mail."""
    if len(feeds) == 1:
        return f"feed:{feeds[0].pk}:{_since(what, feeds[0])}:{what}"
    parts = sorted(f"{feed.pk}:{_since(what, feed)}" for feed in feeds)
    return f"feeds:{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:40]}:{what}"


def _since(what: What, feed: Feed) -> str:
    """Return the start of the trouble; for a recovery, the last alert's time."""
    moment = feed.alerted_at if what == "recovered" else feed.failing_since
    return f"{moment:{FEED_STAMP}}" if moment else ""
