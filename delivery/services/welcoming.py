"""The latest issue for who has just subscribed, as late subscribers get it: once, whatever else happens."""

from datetime import datetime

from django.db.models import Exists, OuterRef

from delivery.models import Delivery, Issue
from delivery.services.late import LATE
from delivery.services.pausing import locked_issue
from delivery.services.publishing import queue, recipients_of
from subscriptions.models import Notice, Subscribable


def send_latest(notice: Notice, *, now: datetime) -> bool:
    """Queues it, in the caller's transaction. False when there is no issue to send yet.

    Nothing is queued for who has it: it may have been published while they were confirming.
    """
    reader = notice.subscription
    issue = _latest(reader.subscribable) if reader else None
    if reader is None or issue is None:
        return False
    # As `send_late` does: of the two, the second sees what the first inserted.
    issue = locked_issue(issue.pk)
    theirs = Delivery.objects.filter(issue=issue, destination=OuterRef("destination"))
    readers = recipients_of(issue.subscribable).filter(~Exists(theirs), pk=reader.pk)
    queue(issue=issue, recipients=readers, now=now, key=LATE)
    return True


def _latest(newsletter: Subscribable) -> Issue | None:
    """The newest issue that went out and can still be sent."""
    out = newsletter.issues.filter(published_at__isnull=False, cancelled_at=None, pruned_at=None)
    return out.defer("html", "text").order_by("-published_at", "-pk").first()
