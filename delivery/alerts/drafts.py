"""Mails to admins about message caps and drafts. A new draft causes a mail about all."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db import transaction

from common.admin.html import list_url, object_url, when
from common.text import one_line, pluralize, shortened
from delivery.alerts.messages import LONGEST_ALERT_TITLE, Alert, alert_recipients, list_lines, queue_alert
from delivery.issues.audience import recipients_of
from delivery.issues.publish import drafts
from delivery.lanes.recipients import OVER
from delivery.lanes.status import day_is_full
from delivery.models import Delivery, Issue, Lane

log = logging.getLogger(__name__)

CAPS_KEY = "caps"
GOES_ON = (
    "Nothing is lost, and you don’t need to do anything. If you want to send "
    "more, raise the limit on this page."
)


def tell_of_caps(*, now: datetime) -> int:
    """Queue a mail per admin, account and UTC day. Return how many."""
    told = 0
    for lane in Lane.objects.filter(per_recipient__isnull=False).order_by("pk"):
        key = f"{CAPS_KEY}:{lane.pk}:{now.astimezone(UTC):%Y%m%d}"
        rows = Delivery.objects.filter(kind=Delivery.Kind.ALERT, issue=None, key__startswith=f"{key}:")
        said = tuple(_reached(lane, now))
        if not said or rows.exists():
            continue
        admins = alert_recipients(now)
        if not admins:
            log.info("a cap was reached, and no admin has an email address for alerts")
            return told
        alert = Alert(
            subject=f"“{lane.account}” has reached its sending limit",
            sentences=said,
            closing=(GOES_ON,),
            page=object_url(lane),
        )
        with transaction.atomic():
            told += queue_alert(alert, key=key, admins=admins, now=now)
    return told


def _reached(lane: Lane, now: datetime) -> Iterator[str]:
    """Yield a sentence per cap that delays messages."""
    waiting = Delivery.objects.waiting().filter(lane=lane)
    if day_is_full(lane, now) and (count := waiting.filter(due_at__lte=now).count()):
        messages = pluralize(count, "message waits", "messages wait")
        yield (
            f"It has sent the {lane.per_day:,} messages allowed within 24 hours. "
            f"{messages}, and will be sent "
            "as the limit allows."
        )
    if count := waiting.filter(due_at__gt=now, last_error=OVER).count():
        messages = pluralize(count, "message waits", "messages wait")
        yield (
            f"{messages} for 00:00 UTC, because the recipients have had the "
            f"{lane.per_recipient} messages allowed "
            "per day."
        )


# Many newsletters may complete at seven: one mail for all.
GAP = timedelta(minutes=10)
DRAFTS_KEY = "drafts"


def tell_of_drafts(*, now: datetime) -> int:
    """Queue mails about unreported drafts. Return how many."""
    waiting = list(drafts().select_related("subscribable"))
    newest = max((issue.pk for issue in waiting), default=0)
    if not newest:
        return 0
    kind = Delivery.Kind.ALERT
    told = Delivery.objects.filter(kind=kind, issue=None, key__startswith=f"{DRAFTS_KEY}:").order_by()
    rows = list(told.values_list("key", "created_at"))
    heard_of = max((int(key.split(":")[1]) for key, _ in rows), default=0)
    if newest <= heard_of or any(at > now - GAP for _, at in rows):
        return 0
    admins = alert_recipients(now)
    with transaction.atomic():
        return queue_alert(drafts_alert(waiting), key=f"{DRAFTS_KEY}:{newest}", admins=admins, now=now)


def drafts_alert(waiting: list[Issue]) -> Alert:
    if len(waiting) > 1:
        lines = [f"{_name(issue)} of {issue.subscribable}. {goes_out(issue)}" for issue in waiting]
        return Alert(
            subject=f"{pluralize(len(waiting), 'issue')} wait for your approval",
            sentences=("These issues are ready and haven’t been sent:",),
            lines=list_lines(lines),
            page=list_url(Issue, state="draft"),
        )
    issue = waiting[0]
    number = pluralize(recipients_of(issue).count(), "subscriber")
    return Alert(
        subject=f"{_name(issue)} waits for your approval",
        sentences=(
            f"The next issue of {issue.subscribable} is ready, for {number}. {goes_out(issue)}",
            "Its page shows the email.",
        ),
        page=object_url(issue),
    )


def goes_out(issue: Issue) -> str:
    """Return words for a draft's release."""
    if issue.release_at is None:
        return "It will be sent when you approve it."
    at = when(issue.release_at, zone=issue.subscribable.zone)
    return f"It will be sent automatically on {at}, unless you stop it."


def _name(issue: Issue) -> str:
    return f"“{shortened(one_line(str(issue)), LONGEST_ALERT_TITLE)}”"
