"""Seal complete collections, render them outside of any transaction, store and publish in one."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from common.backoff import delay
from common.clock import utcnow
from common.db.leases import lease
from common.passes import TimeBudget
from common.text import without_controls
from delivery.issues.approve import release_due
from delivery.issues.broadcast_issue import release_letters
from delivery.issues.contents import assignments_of, collected, note_dropped, rendered_issue
from delivery.issues.first_reader import release_waiting
from delivery.issues.frequency_switches import apply_frequency_changes
from delivery.issues.store import CollectionChanged, store_issue, store_nothing
from subscriptions.collections.assign import lock_for_membership
from subscriptions.collections.drop import delete_dropped_feeds
from subscriptions.collections.post_rules import note_troubles
from subscriptions.collections.readiness import collection_facts, feed_facts, make_feeds_due
from subscriptions.models import Assignable, Assignment, Subscribable
from subscriptions.rules.completion import is_complete

log = logging.getLogger(__name__)

# Longest delay after a worker died while rendering.
SEALED_FOR = timedelta(minutes=2)
FIRST_BACKOFF = timedelta(minutes=1)
LONGEST_BACKOFF = timedelta(hours=6)


def complete_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Issue complete collections, oldest first, within the budget. Return how many."""
    issued = 0
    left = TimeBudget(budget)
    make_feeds_due(now=clock())
    release_due(clock=clock, budget=budget)
    release_letters(clock=clock, budget=budget)
    release_waiting(clock=clock, budget=budget)
    now = clock()
    ended = Q(period_end__lte=now) | Q(period_end=None) | Q(sent_now_at__isnull=False)
    rows: Any = Assignable.objects.due(now).filter(ended).order_by("period_end", "opened_at", "pk")
    # Checked again under the newsletter's lock.
    rows = rows.counted().select_related("subscribable")
    for pk in [row.pk for row in rows if _is_complete(row, (row.held, row.left_out), now)]:
        if left.is_spent:
            break
        issued += complete_collection(assignable_id=pk, now=clock())
    delete_dropped_feeds()
    apply_frequency_changes(now=clock(), budget=budget)
    return issued


def _is_complete(assignable: Assignable, counts: tuple[int, int], now: datetime) -> bool:
    """Return whether the collection is complete. `counts`: posts kept, posts left out."""
    return is_complete(collection_facts(assignable, counts=counts), feed_facts(assignable), now)


def complete_collection(*, assignable_id: int, now: datetime) -> bool:
    """Complete a collection if it is due. A failure is recorded and retried.

    Without a post to send it ends without an issue.
    """
    token = None
    try:
        sealed = _sealed(assignable_id, now)
        if sealed is None:
            return False
        collection, rows = sealed
        token = collection.seal_token
        assert token is not None  # noqa: S101 - it was just set
        contents = collected(collection, rows)
        note_troubles(contents.troubles, title=contents.subscribable.title, now=now)
        rendered = None
        if contents.posts:
            rendered = rendered_issue(contents, now=now)
        with transaction.atomic():
            if rendered is None:
                store_nothing(assignable_id=assignable_id, token=token, contents=contents, now=now)
            else:
                store_issue(
                    assignable_id=assignable_id, token=token, contents=contents, rendered=rendered, now=now
                )
            if contents.reasons:
                note_dropped(contents.subscribable, contents.reasons, now=now)
    except Exception as error:
        if not isinstance(error, CollectionChanged):
            log.exception("completing failed", extra={"collection": assignable_id})
        _unseal(assignable_id, token, error, now)
        return False
    return True


@transaction.atomic
def _sealed(assignable_id: int, now: datetime) -> tuple[Assignable, list[Assignment]] | None:
    """Seal a collection under its newsletter's lock; None if it is not complete.

    Then no post is added or removed any more.
    """
    locked = lock_for_membership(Subscribable.objects.filter(assignables=assignable_id))
    assignable = Assignable.objects.due(now).filter(pk=assignable_id).first()
    if assignable is None or not locked:
        return None
    assignable.subscribable = locked[0]
    rows = assignments_of(assignable)
    kept = sum(row.left_out_at is None and not row.is_withdrawn for row in rows)
    if not _is_complete(assignable, (kept, len(rows) - kept), now):
        return None
    ours = lease(now, SEALED_FOR)
    assignable.seal_token, assignable.seal_until = ours.token, ours.until
    assignable.save(update_fields=["seal_token", "seal_until"])
    return assignable, rows


@transaction.atomic
def _unseal(assignable_id: int, token: UUID | None, error: Exception, now: datetime) -> None:
    assignable = Assignable.objects.select_for_update().filter(pk=assignable_id, seal_token=token).first()
    if assignable is None:
        return
    assignable.failures += 1
    assignable.last_error = without_controls(f"{type(error).__name__}: {error}")[:2000]
    assignable.next_try_at = now + delay(assignable.failures, first=FIRST_BACKOFF, limit=LONGEST_BACKOFF)
    assignable.seal_token = assignable.seal_until = None
    assignable.save(update_fields=["failures", "last_error", "next_try_at", "seal_token", "seal_until"])
