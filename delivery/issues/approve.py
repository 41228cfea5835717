"""Drafts: issues that wait for an admin's click or for their time. Each goes out exactly once, or never."""

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
    """The issues that wait, without their letters. First come those with a time at which they go."""
    rows = Issue.objects.filter(published_at=None, cancelled_at=None, awaits_reader=False)
    rows = rows.defer("html", "text", "placeholders")
    return rows.order_by(F("release_at").asc(nulls_last=True), "created_at", "pk")


@transaction.atomic
def approve_issue(*, issue_id: int, now: datetime) -> int:
    """Publishes a draft now. Returns how many letters were queued. Raises CannotAct for what is no draft.

    None are where the newsletter has no reader yet: it waits for the first one then.
    """
    lock_newsletter(issue_id)
    locked_draft(issue_id)
    return publish_to_readers(issue_id=issue_id, now=now)


@transaction.atomic
def release_at(*, issue_id: int, at: datetime, now: datetime) -> None:
    """Lets a draft go by itself at that time. Raises CannotAct for a time that has passed."""
    issue = locked_draft(issue_id)
    if at <= now:
        raise CannotAct("That time has passed. Give a later one, or approve it now.")
    if at - now > LATEST_RELEASE:
        raise CannotAct("That is more than a year away. Give an earlier time.")
    Issue.objects.filter(pk=issue.pk, published_at=None).update(release_at=at)


@transaction.atomic
def stop_release(*, issue_id: int) -> None:
    """Has a draft wait for a click: it does not go by itself. Raises CannotAct for what is no draft."""
    issue = locked_draft(issue_id)
    Issue.objects.filter(pk=issue.pk, published_at=None).update(release_at=None)


@transaction.atomic
def discard_issue(*, issue_id: int, now: datetime) -> None:
    """Drops a draft for good; its posts stay issued. Raises CannotAct for what is no draft."""
    issue = _unpublished(issue_id)
    Issue.objects.filter(pk=issue.pk, published_at=None).update(cancelled_at=now, release_at=None)


@transaction.atomic
def restore_issue(*, issue_id: int) -> None:
    """Takes a discarding back: the draft waits for a click. Raises CannotAct for what was not discarded."""
    issue = locked_issue(issue_id)
    if issue.published_at is not None or issue.cancelled_at is None:
        raise CannotAct(f"“{issue}” was not discarded.")
    if issue.pruned_at is not None:
        raise CannotAct(f"The letter of “{issue}” was forgotten after KEEP_DAYS: it cannot be sent any more.")
    Issue.objects.filter(pk=issue.pk, published_at=None).update(
        cancelled_at=None, release_at=None, awaits_reader=False
    )


def release_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Publishes the drafts whose time has come, as far as the budget goes. Returns how many."""
    left = TimeBudget(budget)
    released = 0
    for pk in list(drafts().filter(release_at__lte=clock()).values_list("pk", flat=True)):
        if left.is_spent:
            break
        try:
            released += _release(pk, clock())
        except Exception:
            log.exception("releasing failed", extra={"issue": pk})
    return released


@transaction.atomic
def _release(issue_id: int, now: datetime) -> bool:
    """Publishes one, unless an admin stopped, discarded or approved it meanwhile: seen under its lock."""
    lock_newsletter(issue_id)
    Issue.objects.select_for_update(no_key=True).filter(pk=issue_id).values_list("pk").first()
    if not drafts().filter(pk=issue_id, release_at__lte=now).exists():
        return False
    publish_to_readers(issue_id=issue_id, now=now)
    return True


def locked_draft(issue_id: int) -> Issue:
    """The draft, locked until the transaction ends. Raises CannotAct for what is no draft."""
    issue = _unpublished(issue_id)
    if issue.awaits_reader:
        raise CannotAct(
            f"“{issue}” is approved and waits for its first reader: it goes out when somebody has confirmed."
        )
    return issue


def _unpublished(issue_id: int) -> Issue:
    issue = locked_issue(issue_id)
    if issue.published_at is not None:
        raise CannotAct(f"“{issue}” has gone out already.")
    if issue.cancelled_at is not None:
        raise CannotAct(f"“{issue}” was discarded. Take that back first.")
    return issue
