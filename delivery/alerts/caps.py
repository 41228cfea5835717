"""Mails to the admins about accounts whose messages cost, and that may send no more for the moment."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime

from django.db import transaction

from common.admin.html import object_url
from common.text import pluralize
from delivery.alerts.mails import alert_recipients, queue_alert
from delivery.alerts.messages import Alert
from delivery.lanes.recipients import OVER
from delivery.lanes.status import day_is_full
from delivery.models import Delivery, Lane

log = logging.getLogger(__name__)

CAPS_KEY = "caps"
GOES_ON = "Nothing is lost, and you need not do anything. If so many are right, allow more on this page."


def tell_of_caps(*, now: datetime) -> int:
    """Queues a mail to each admin, once for each account and day of UTC. Returns how many."""
    told = 0
    for lane in Lane.objects.filter(per_recipient__isnull=False).order_by("pk"):
        key = f"{CAPS_KEY}:{lane.pk}:{now.astimezone(UTC):%Y%m%d}"
        rows = Delivery.objects.filter(kind=Delivery.Kind.ALERT, issue=None, key__startswith=f"{key}:")
        said = tuple(_reached(lane, now))
        if not said or rows.exists():
            continue
        admins = alert_recipients(now)
        if not admins:
            log.info("a cap was reached, and no admin has an e-mail address to be told at")
            return told
        alert = Alert(
            subject=f"“{lane.account}” has sent as many messages as it may",
            sentences=said,
            closing=(GOES_ON,),
            page=object_url(lane),
        )
        with transaction.atomic():
            told += queue_alert(alert, key=key, admins=admins, now=now)
    return told


def _reached(lane: Lane, now: datetime) -> Iterator[str]:
    """A sentence for each of its caps that keeps something waiting."""
    waiting = Delivery.objects.waiting().filter(lane=lane)
    if day_is_full(lane, now) and (count := waiting.filter(due_at__lte=now).count()):
        messages = pluralize(count, "message waits", "messages wait")
        yield (
            f"It has sent the {lane.per_day:,} messages that it may within 24 hours. {messages}, and will go"
            " as older ones of these hours fall out of the count."
        )
    if count := waiting.filter(due_at__gt=now, last_error=OVER).count():
        messages = pluralize(count, "message waits", "messages wait")
        yield (
            f"{messages} for 00:00 UTC: the recipients have had the {lane.per_recipient} that one may have in"
            " a day."
        )
