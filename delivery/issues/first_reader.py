"""A newsletter's first issue waits for its first reader: it would go to nobody.

One issue waits, the newest. When a newer one is made, or after a month, it goes into the archive alone:
whoever comes first gets one letter, and no old ones. After the first issue with a reader none waits any more.
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
    """The issues that wait, at most one of each newsletter, without their letters."""
    rows = Issue.objects.filter(awaits_reader=True, published_at=None, cancelled_at=None)
    return rows.defer("html", "text", "placeholders")


def over(now: datetime) -> "QuerySet[Issue]":
    """Those for which somebody has come, and those that waited too long."""
    readers = Subscription.objects.reachable().filter(subscribable=OuterRef("subscribable"))
    return waiting_for_a_reader().filter(Exists(readers) | Q(created_at__lte=now - WAITS_AT_MOST))


@transaction.atomic
def publish_to_readers(*, issue_id: int, now: datetime) -> int:
    """Publishes a draft, or has it wait for its newsletter's first reader. Returns how many were queued.

    Everybody takes the newsletter's lock before an issue's.
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
    """Publishes what waited for a reader and has one, as far as the budget goes. Returns how many."""
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
    """Publishes it if somebody has come; puts it into the archive if it waited too long. Under the locks."""
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
