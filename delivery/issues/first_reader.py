"""A newsletter's first issue waits for its first reader.

Only the newest issue waits; a newer one or 30 days send it to the archive, so the first reader gets one
letter and no old ones. After the first issue with a reader none waits.
"""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from common.clock import utcnow
from common.passes import TimeBudget
from delivery.issues.audience import readers_of
from delivery.issues.publish import archive_only, publish
from delivery.models import Issue
from subscriptions.collections.assign import lock_for_membership
from subscriptions.models import Subscribable, Subscription

log = logging.getLogger(__name__)

WAITS_AT_MOST = timedelta(days=30)


def waiting_for_a_reader() -> "QuerySet[Issue]":
    """Return the waiting issues without their letters, at most one per newsletter."""
    rows = Issue.objects.filter(awaits_reader=True, published_at=None, cancelled_at=None)
    return rows.defer("html", "text", "placeholders")


def over(now: datetime) -> "QuerySet[Issue]":
    """Return waiting issues that have a reader or waited too long."""
    readers = Subscription.objects.reachable().filter(subscribable=OuterRef("subscribable"))
    return waiting_for_a_reader().filter(Exists(readers) | Q(created_at__lte=now - WAITS_AT_MOST))


@transaction.atomic
def publish_to_readers(*, issue_id: int, now: datetime) -> int:
    """Publish a draft or let it wait for a reader. Return the number of queued letters.

    Lock order: newsletter, issue.
    """
    newsletter = lock_newsletter(issue_id)
    if newsletter is None or not newsletter.awaits_first_reader:
        return publish(issue_id=issue_id, now=now)
    draft = Issue.objects.filter(pk=issue_id, published_at=None, cancelled_at=None)
    has_reader = readers_of(newsletter.pk).exists()
    if not has_reader and not draft.update(awaits_reader=True, release_at=None):
        return 0
    for older in waiting_for_a_reader().filter(subscribable=newsletter).exclude(pk=issue_id):
        archive_only(issue_id=older.pk, now=now)
    return _publish_first(newsletter, issue_id, now) if has_reader else 0


def release_waiting(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Publish or archive issues whose wait is over, within the budget. Return how many."""
    left, released = TimeBudget(budget), 0
    for pk in list(over(clock()).order_by("pk").values_list("pk", flat=True)):
        if left.is_spent:
            break
        try:
            released += release_issue(issue_id=pk, now=clock())
        except Exception:
            log.exception("releasing failed", extra={"issue": pk})
    return released


@transaction.atomic
def release_issue(*, issue_id: int, now: datetime) -> bool:
    newsletter = lock_newsletter(issue_id)
    if newsletter is None or not over(now).filter(pk=issue_id).exists():
        return False
    if readers_of(newsletter.pk).exists():
        _publish_first(newsletter, issue_id, now)
    else:
        archive_only(issue_id=issue_id, now=now)
    return True


def lock_newsletter(issue_id: int) -> Subscribable | None:
    return next(iter(lock_for_membership(Subscribable.objects.filter(issues=issue_id))), None)


def _publish_first(newsletter: Subscribable, issue_id: int, now: datetime) -> int:
    Subscribable.objects.filter(pk=newsletter.pk).update(awaits_first_reader=False)
    Issue.objects.filter(pk=issue_id, published_at=None).update(awaits_reader=False)
    return publish(issue_id=issue_id, now=now)
