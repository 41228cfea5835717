"""Pausing, resuming and cancelling an issue, and pausing a whole newsletter.

Each sets a flag at once, however large the issue is: the claim takes nothing of what is paused, and what was
claimed before and has not begun is handed back as soon as one letter more was accepted. The ledger follows in
batches, each a transaction: here as far as the budget goes, and the rest in the engine's own time
(`finish_pauses`). A batch looks first, under the issue's lock, whether the issue still wants it. So pausing,
resuming and cancelling at the same time end as the last of them said, however far each had come.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from common.passes import TimeBudget
from common.ports.panels import CannotAct
from common.text import one_line, pluralize
from delivery.models import Delivery, Issue
from delivery.models.delivery import NOT_FINISHED, WAITING
from subscriptions.models import Subscribable

DELIVERIES_A_BATCH = 2000
BY_PAUSE = Delivery.HeldFor.PAUSE
PAUSED_BY_HAND = "Paused by hand."
CANCELLED = "The rest of its issue was cancelled."
PAUSED = "Its issue or newsletter is paused."
CLICK_BUDGET = timedelta(seconds=2)
# Seconds that a person waits for workers to hand back what they have not begun, and between two looks.
RECALL_WAIT, RECALL_LOOK = 1.0, 0.1
LONGEST_PAUSE_REASON = 2000


@dataclass(frozen=True, slots=True)
class Move:
    """How deliveries of an issue change: `rows` finds them, and the issue itself must fit (`fits`)."""

    rows: Q
    fits: Callable[[Issue], bool]
    changes: Callable[[datetime], Mapping[str, Any]]


def is_paused(issue: Issue) -> bool:
    """Whether the issue, or its newsletter as a whole, is paused."""
    return issue.paused_at is not None or issue.subscribable.sending_paused_at is not None


HOLD = Move(
    rows=Q(state__in=WAITING),
    fits=lambda issue: is_paused(issue) and issue.cancelled_at is None,
    changes=lambda now: {"state": Delivery.State.HELD, "held_for": BY_PAUSE},
)
# `created_at` is set anew: days of pause do not count against the days after which a letter is given up.
QUEUE = Move(
    rows=Q(state=Delivery.State.HELD, held_for=BY_PAUSE),
    fits=lambda issue: not is_paused(issue) and issue.cancelled_at is None,
    changes=lambda now: {"state": Delivery.State.QUEUED, "held_for": "", "created_at": now},
)
CANCEL = Move(
    rows=Q(state__in=(*WAITING, Delivery.State.HELD)),
    fits=lambda issue: issue.cancelled_at is not None,
    changes=lambda now: {"state": Delivery.State.CANCELLED, "held_for": "", "last_error": CANCELLED},
)


def move(*, issue_ids: Iterable[int], move: Move, now: datetime, budget: TimeBudget) -> int:
    """Moves the deliveries of these issues, as far as the budget goes. Returns how many."""
    moved = 0
    for pk in issue_ids:
        while not budget.is_spent and (count := move_batch(issue_id=pk, move=move, now=now)):
            moved += count
    return moved


@transaction.atomic
def move_batch(*, issue_id: int, move: Move, now: datetime) -> int:
    """One batch. Rows that somebody else has locked at this moment are left for the next round."""
    locked = Issue.objects.select_for_update(no_key=True).filter(pk=issue_id).values_list("pk").first()
    issue = Issue.objects.select_related("subscribable").defer("html", "text").filter(pk=issue_id).first()
    if locked is None or issue is None or not move.fits(issue):
        return 0
    rows = Delivery.objects.filter(move.rows, issue=issue_id).order_by()
    pks = list(rows.select_for_update(skip_locked=True).values_list("pk", flat=True)[:DELIVERIES_A_BATCH])
    # Named once more: an UPDATE says which state it leaves.
    return Delivery.objects.filter(move.rows, pk__in=pks).update(**move.changes(now))


def pause_issue(*, issue_id: int, now: datetime, budget: timedelta | None = CLICK_BUDGET) -> bool:
    """Holds what is not on its way yet. False when it was paused already. Raises CannotAct."""
    with transaction.atomic():
        issue = locked_issue(issue_id)
        _refuse_unpublished(issue, "There is nothing to pause.")
        if issue.paused_at is not None:
            return False
        unfinished = issue.deliveries.filter(state__in=NOT_FINISHED)
        if issue.cancelled_at is not None or not unfinished.exists():
            raise CannotAct("All of it has gone out or ended: there is nothing to pause.")
        Issue.objects.filter(pk=issue_id, paused_at=None).update(paused_at=now)
    move(issue_ids=[issue_id], move=HOLD, now=now, budget=TimeBudget(budget))
    return True


def resume_issue(*, issue_id: int, now: datetime, budget: timedelta | None = None) -> int:
    """Lets what was held go on. Returns how many were queued so far. Raises CannotAct.

    While the whole newsletter is paused nothing is queued: it waits for that.
    """
    with transaction.atomic():
        _refuse_unpublished(locked_issue(issue_id), "There is nothing to resume.")
        Issue.objects.filter(pk=issue_id, paused_at__isnull=False).update(paused_at=None, paused_reason="")
    return move(issue_ids=[issue_id], move=QUEUE, now=now, budget=TimeBudget(budget))


def cancel_issue(*, issue_id: int, now: datetime, budget: timedelta | None = None) -> int:
    """Cancels what is not on its way yet. Returns how many were cancelled so far. Safe to repeat.

    Raises CannotAct for a draft: that is discarded.
    """
    with transaction.atomic():
        _refuse_unpublished(locked_issue(issue_id), "Discard it instead.")
        Issue.objects.filter(pk=issue_id, cancelled_at=None).update(cancelled_at=now)
    return move(issue_ids=[issue_id], move=CANCEL, now=now, budget=TimeBudget(budget))


@transaction.atomic
def pause_newsletter(*, subscribable_id: int, reason: str, now: datetime) -> bool:
    """Nothing of the newsletter goes out until it is resumed. False when it was paused already."""
    rows = Subscribable.objects.filter(pk=subscribable_id, sending_paused_at=None)
    changes = {"sending_paused_at": now, "sending_paused_reason": one_line(reason)[:LONGEST_PAUSE_REASON]}
    return bool(rows.update(**changes))


def resume_newsletter(*, subscribable_id: int, now: datetime, budget: timedelta | None = None) -> int:
    """Lets its letters go on, but for issues paused themselves. Returns how many were queued so far."""
    with transaction.atomic():
        paused = Subscribable.objects.filter(pk=subscribable_id, sending_paused_at__isnull=False)
        paused.update(sending_paused_at=None, sending_paused_reason="")
    held = _issues_with(QUEUE.rows, Issue.objects.filter(subscribable=subscribable_id))
    return move(issue_ids=held, move=QUEUE, now=now, budget=TimeBudget(budget))


def still_going(*, issues: "QuerySet[Issue]") -> int:
    """Wait a moment for the workers. Returns how many letters of stopped issues may still go out."""
    rows = Delivery.objects.filter(issue__in=issues, state=Delivery.State.SENDING)
    end = time.monotonic() + RECALL_WAIT
    while (count := rows.count()) and time.monotonic() < end:
        time.sleep(RECALL_LOOK)
    return count


def what_still_goes(issues: "QuerySet[Issue]") -> str:
    """Return a sentence about the letters of stopped issues that may still go out. Waits a moment."""
    count = still_going(issues=issues)
    if not count:
        return "Nothing more goes out."
    return f"Up to {pluralize(count, 'letter')} had been handed over already: these may still go out."


def finish_pauses(*, now: datetime, budget: timedelta | None = None) -> int:
    """Brings the ledger in line with the flags, where something is left to do. Returns how many rows moved.

    It goes on where a large issue took longer than a click may take, or where a worker ended in the middle.
    """
    left = TimeBudget(budget)
    paused = Q(paused_at__isnull=False) | Q(subscribable__sending_paused_at__isnull=False)
    out = Issue.objects.filter(published_at__isnull=False)
    moves = [(CANCEL, out.filter(cancelled_at__isnull=False)), (HOLD, out.filter(paused, cancelled_at=None))]
    # Looked at first: where nothing is on hold, not every issue there is need be asked.
    if Delivery.objects.filter(QUEUE.rows).exists():
        moves.append((QUEUE, out.filter(cancelled_at=None).exclude(paused)))
    return sum(
        move(issue_ids=_issues_with(each.rows, issues), move=each, now=now, budget=left)
        for each, issues in moves
    )


def _issues_with(rows: Q, issues: "QuerySet[Issue]") -> list[int]:
    """The keys of the issues that have such deliveries."""
    found = issues.filter(Exists(Delivery.objects.filter(rows, issue=OuterRef("pk"))))
    return list(found.order_by("pk").values_list("pk", flat=True))


def locked_issue(issue_id: int) -> Issue:
    """The issue, without its letter, locked until the transaction ends. Raises CannotAct when it is gone."""
    rows = Issue.objects.select_for_update(no_key=True).defer("html", "text", "placeholders")
    issue = rows.filter(pk=issue_id).first()
    if issue is None:
        raise CannotAct("There is no such issue any more.")
    return issue


def _refuse_unpublished(issue: Issue, hint: str) -> None:
    if issue.published_at is None:
        raise CannotAct(f"“{issue}” has not gone out. {hint}")
