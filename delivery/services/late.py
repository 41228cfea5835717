"""Late subscribers: those who confirmed after an issue was published, and have no delivery of it."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from common.panels import CannotAct
from delivery.models import Delivery, Issue
from delivery.services.pausing import locked_issue
from delivery.services.publishing import queue, recipients_of
from delivery.services.switches import not_switching
from subscriptions.models import Subscription

# The key of their deliveries: on the issue's page they are counted by themselves.
LATE = "late"
# A confirmation that was not committed yet when the issue was published belongs here, too.
MOMENT = timedelta(minutes=1)


def late_subscribers(issue: Issue) -> "QuerySet[Subscription]":
    """Who would get the issue if it were sent to late subscribers now."""
    recipients = not_switching(issue, recipients_of(issue.subscribable))
    if issue.published_at is None:
        return recipients.none()
    theirs = Delivery.objects.filter(issue=issue.pk, destination=OuterRef("destination"))
    return recipients.filter(~Exists(theirs), confirmed_at__gt=issue.published_at - MOMENT)


@transaction.atomic
def send_late(*, issue_id: int, now: datetime) -> int:
    """Queues the issue for its late subscribers, each once. Returns how many. Raises CannotAct."""
    # Two at once: the second waits here, and then sees what the first inserted.
    issue = locked_issue(issue_id)
    if issue.published_at is None:
        raise CannotAct(f"“{issue}” has not gone out: there are no late subscribers yet.")
    if issue.cancelled_at is not None:
        raise CannotAct(f"“{issue}” was cancelled: it goes to nobody any more.")
    if issue.pruned_at is not None:
        raise CannotAct(f"The letter of “{issue}” was forgotten after KEEP_DAYS: it cannot be sent again.")
    return queue(issue=issue, recipients=late_subscribers(issue), now=now, key=LATE)
