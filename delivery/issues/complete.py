"""Seal complete collections, render them outside of any transaction, store and publish in one.

A batch of collections shares the statements of each step.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, TypeVar
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from common.backoff import delay
from common.clock import utcnow
from common.db.bulk import batched
from common.db.leases import lease
from common.db.prepared import AnyRows
from common.passes import TimeBudget
from common.text import without_controls
from delivery.issues.approve import due_drafts, release_due
from delivery.issues.broadcast_issue import release_letters
from delivery.issues.broadcasts import scheduled_letters
from delivery.issues.contents import (
    LetterSettings,
    assignments_of,
    collected,
    letter_settings_of,
    rendered_issue,
)
from delivery.issues.first_reader import over, release_waiting
from delivery.issues.frequency_switches import apply_frequency_changes, switches_to_apply
from delivery.issues.store import CollectionChanged, Completed, store_issues
from subscriptions.collections.assign import lock_for_membership
from subscriptions.collections.drop import delete_dropped_feeds, dropping_feeds
from subscriptions.collections.post_rules import note_troubles
from subscriptions.collections.readiness import JUDGED_BY, behind, complete_among, make_feeds_due
from subscriptions.models import Assignable, Assignment, Subscribable

log = logging.getLogger(__name__)

# Longest delay after a worker died while rendering.
SEALED_FOR = timedelta(minutes=2)
FIRST_BACKOFF = timedelta(minutes=1)
LONGEST_BACKOFF = timedelta(hours=6)
JUDGED_TOGETHER = 500
# Limits of a batch, for its memory and the delay of its first letter.
MOST_COLLECTIONS = 50
MOST_POSTS = 100
MOST_CHARACTERS = 5_000_000
RENDERED_FOR = timedelta(seconds=2)

_WAITING_BEFORE = AnyRows(lambda now: (behind(now), due_drafts(now), scheduled_letters(now), over(now)))
_WAITING_AFTER = AnyRows(lambda now: (dropping_feeds(), *switches_to_apply(now)))
Sealed = tuple[Assignable, list[Assignment], LetterSettings]
Row = TypeVar("Row")
Result = TypeVar("Result")


def complete_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Issue complete collections, oldest first, within the budget. Return how many."""
    issued = 0
    left = TimeBudget(budget)
    if _WAITING_BEFORE.at(clock()):
        make_feeds_due(now=clock())
        release_due(clock=clock, budget=budget)
        release_letters(clock=clock, budget=budget)
        release_waiting(clock=clock, budget=budget)
    waiting = _complete_now(clock())
    while waiting and not left.is_spent:
        posts = accumulate(count for _, count in waiting[:MOST_COLLECTIONS])
        size = max(1, sum(count <= MOST_POSTS for count in posts))
        batch, waiting = waiting[:size], waiting[size:]
        count, unrendered = complete_collections([pk for pk, _ in batch], now=clock())
        issued += count
        waiting = [row for row in batch if row[0] in unrendered] + waiting
    if _WAITING_AFTER.at(clock()):
        delete_dropped_feeds()
        apply_frequency_changes(now=clock(), budget=budget)
    return issued


def _complete_now(now: datetime) -> list[tuple[int, int]]:
    """Return complete collections with their numbers of posts. Not locked, so check them again."""
    ended = Q(period_end__lte=now) | Q(period_end=None) | Q(sent_now_at__isnull=False)
    due: Any = Assignable.objects.due(now).filter(ended).order_by("period_end", "opened_at", "pk")
    rows = list(due.counted().select_related("subscribable").only(*JUDGED_BY))
    complete = [row for some in batched(rows, JUDGED_TOGETHER) for row in complete_among(some, now)]
    return [(row.pk, row.held + row.left_out) for row in complete]


def complete_collection(*, assignable_id: int, now: datetime) -> bool:
    """Complete a collection if it is due. A failure is recorded and retried.

    Without a post to send it ends without an issue.
    """
    count, _ = complete_collections([assignable_id], now=now)
    return bool(count)


def complete_collections(assignable_ids: Sequence[int], *, now: datetime) -> tuple[int, set[int]]:
    """Do the same for several. Return how many, and the keys for which the batch had no room."""
    parts = _together(
        lambda keys: _sealed(keys, now), assignable_ids, lambda pk, error: _put_off(pk, None, error, now)
    )
    sealed = deque(each for part in parts for each in part)
    time_left, room = TimeBudget(RENDERED_FOR), MOST_CHARACTERS
    completed: list[Completed] = []
    while sealed and not (completed and (room < 0 or time_left.is_spent)):
        assignable, rows, letter_settings = sealed.popleft()
        token = assignable.seal_token
        try:
            contents = collected(assignable, rows)
            note_troubles(contents.troubles, title=contents.subscribable.title, now=now)
            rendered = None
            if contents.posts:
                rendered = rendered_issue(contents, now=now, letter_settings=letter_settings)
                room -= len(rendered.html) + len(rendered.text)
            completed.append(Completed(contents, rendered, token))
        except Exception as error:  # noqa: BLE001 - recorded
            _put_off(assignable.pk, token, error, now)
    counts = _together(
        lambda batch: store_issues(batch, now=now),
        completed,
        lambda each, error: _put_off(each.contents.assignable_id, each.token, error, now),
    )
    unrendered = {assignable.pk: assignable.seal_token for assignable, _, _ in sealed}
    left = Assignable.objects.filter(pk__in=unrendered, seal_token__in=unrendered.values())
    left.update(seal_token=None, seal_until=None)
    return sum(counts), set(unrendered)


def _together(
    act: Callable[[Sequence[Row]], Result], rows: Sequence[Row], fail: Callable[[Row, Exception], None]
) -> list[Result]:
    """Call `act` with all rows or, after an error, with halves of them, so that one stops no other."""
    if not rows:
        return []
    try:
        with transaction.atomic():
            return [act(rows)]
    except Exception as error:  # noqa: BLE001 - recorded
        if len(rows) == 1:
            fail(rows[0], error)
            return []
    middle = len(rows) // 2
    return _together(act, rows[:middle], fail) + _together(act, rows[middle:], fail)


@transaction.atomic
def _sealed(assignable_ids: Sequence[int], now: datetime) -> list[Sealed]:
    """Seal the complete ones of these collections, under their newsletters' locks.

    Then no post is added or removed any more.
    """
    due = Assignable.objects.due(now).filter(pk__in=assignable_ids)
    newsletters = Subscribable.objects.filter(pk__in=due.values("subscribable"))
    locked = {row.pk: row for row in lock_for_membership(newsletters.prefetch_related("post_rules"))}
    rows: dict[int, Any] = due.counted().filter(subscribable__in=locked).in_bulk()
    assignables = [rows[pk] for pk in assignable_ids if pk in rows]
    for assignable in assignables:
        assignable.subscribable = locked[assignable.subscribable_id]
    complete = complete_among(assignables, now)
    ours = lease(now, SEALED_FOR)
    for assignable in complete:
        assignable.seal_token, assignable.seal_until = ours.token, ours.until
    Assignable.objects.filter(pk__in=[row.pk for row in complete]).update(
        seal_token=ours.token, seal_until=ours.until
    )
    assignments = assignments_of(complete)
    letter_settings = letter_settings_of([row.subscribable for row in complete])
    return [(row, assignments[row.pk], letter_settings[row.subscribable_id]) for row in complete]


def _put_off(assignable_id: int, token: UUID | None, error: Exception, now: datetime) -> None:
    if not isinstance(error, CollectionChanged):
        log.error("completing failed", exc_info=error, extra={"collection": assignable_id})
    _unseal(assignable_id, token, error, now)


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
