"""Drafts: issues that wait for approval or a release time. Each is published once or never."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, QuerySet

from common.clock import utcnow
from common.passes import TimeBudget
from common.ports.panels import CannotAct
from delivery.issues.first_reader import lock_newsletter, publish_to_readers
from delivery.issues.pause import locked_issue
from delivery.models import Issue

log = logging.getLogger(__name__)

LATEST_RELEASE = timedelta(days=366)


def drafts() -> "QuerySet[Issue]":
    """Return drafts without their letters, the next to be released first."""
    rows = Issue.objects.filter(published_at=None, cancelled_at=None, awaits_reader=False)
    rows = rows.defer("html", "text", "placeholders")
    return rows.order_by(F("release_at").asc(nulls_last=True), "created_at", "pk")


@transaction.atomic
def approve_issue(*, issue_id: int, now: datetime) -> int:
    """Publish a draft and return the number of queued letters. Raises CannotAct.

    The number is 0 while the issue waits for the newsletter's first reader.
    """
    lock_newsletter(issue_id)
    locked_draft(issue_id)
    return publish_to_readers(issue_id=issue_id, now=now)


@transaction.atomic
def release_at(*, issue_id: int, at: datetime, now: datetime) -> None:
    """Schedule a draft. Raises CannotAct."""
    issue = locked_draft(issue_id)
    if at <= now:
        raise CannotAct("That time has passed. Give a later one, or approve it now.")
    if at - now > LATEST_RELEASE:
        raise CannotAct("That is more than a year away. Give an earlier time.")
    Issue.objects.filter(pk=issue.pk, published_at=None).update(release_at=at)


@transaction.atomic
def stop_release(*, issue_id: int) -> None:
    issue = locked_draft(issue_id)
    Issue.objects.filter(pk=issue.pk, published_at=None).update(release_at=None)


@transaction.atomic
def discard_issue(*, issue_id: int, now: datetime) -> None:
    """Discard a draft; its posts still count as issued. Raises CannotAct."""
    issue = _unpublished(issue_id)
    Issue.objects.filter(pk=issue.pk, published_at=None).update(cancelled_at=now, release_at=None)


@transaction.atomic
def restore_issue(*, issue_id: int) -> None:
    """Restore a discarded draft, unscheduled. Raises CannotAct."""
    issue = locked_issue(issue_id)
    if issue.published_at is not None or issue.cancelled_at is None:
        raise CannotAct(f"“{issue}” was not discarded.")
    if issue.pruned_at is not None:
        raise CannotAct(f"“{issue}” can’t be sent any more. Its content was deleted after KEEP_DAYS.")
    Issue.objects.filter(pk=issue.pk, published_at=None).update(
        cancelled_at=None, release_at=None, awaits_reader=False
    )


def due_drafts(now: datetime) -> "QuerySet[Issue]":
    return drafts().filter(release_at__lte=now)


def release_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Publish due drafts, within the budget. Return how many."""
    left = TimeBudget(budget)
    released = 0
    for pk in list(due_drafts(clock()).values_list("pk", flat=True)):
        if left.is_spent:
            break
        try:
            released += _release(pk, clock())
        except Exception:
            log.exception("releasing failed", extra={"issue": pk})
    return released


@transaction.atomic
def _release(issue_id: int, now: datetime) -> bool:
    lock_newsletter(issue_id)
    Issue.objects.select_for_update(no_key=True).filter(pk=issue_id).values_list("pk").first()
    if not due_drafts(now).filter(pk=issue_id).exists():
        return False
    publish_to_readers(issue_id=issue_id, now=now)
    return True


def locked_draft(issue_id: int) -> Issue:
    """Return a locked draft. Raises CannotAct."""
    issue = _unpublished(issue_id)
    if issue.awaits_reader:
        raise CannotAct(f"“{issue}” is approved and will be sent when the first subscriber confirms.")
    return issue


def _unpublished(issue_id: int) -> Issue:
    issue = locked_issue(issue_id)
    if issue.published_at is not None:
        raise CannotAct(f"“{issue}” was already sent.")
    if issue.cancelled_at is not None:
        raise CannotAct(f"“{issue}” was discarded. Restore it first.")
    return issue
