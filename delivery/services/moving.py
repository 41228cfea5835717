"""Moving many deliveries of an issue from one state to another, batch by batch, each in a transaction.

A batch looks first, under the issue's lock, whether the issue still wants it: so what pauses, resumes and
cancels at the same time ends as the last of them said, however far each had come.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from delivery.models import Delivery, Issue
from delivery.querysets import WAITING

BATCH = 2000
PAUSE = Delivery.HeldFor.PAUSE
CANCELLED = "The rest of its issue was cancelled."
PAUSED = "Its issue or newsletter is paused."


@dataclass(frozen=True, slots=True)
class Move:
    """Rows of an issue that change as long as `fits` says so of the issue."""

    rows: Q
    fits: Callable[[Issue], bool]
    changes: Callable[[datetime], Mapping[str, Any]]


def is_paused(issue: Issue) -> bool:
    """Whether the issue, or its newsletter as a whole, is paused."""
    return issue.paused_at is not None or issue.subscribable.sending_paused_at is not None


HOLD = Move(
    rows=Q(state__in=WAITING),
    fits=lambda issue: is_paused(issue) and issue.cancelled_at is None,
    changes=lambda now: {"state": Delivery.State.HELD, "held_for": PAUSE},
)
# Days of pause do not count against the days after which a letter is given up.
QUEUE = Move(
    rows=Q(state=Delivery.State.HELD, held_for=PAUSE),
    fits=lambda issue: not is_paused(issue) and issue.cancelled_at is None,
    changes=lambda now: {"state": Delivery.State.QUEUED, "held_for": "", "created_at": now},
)
CANCEL = Move(
    rows=Q(state__in=(*WAITING, Delivery.State.HELD)),
    fits=lambda issue: issue.cancelled_at is not None,
    changes=lambda now: {"state": Delivery.State.CANCELLED, "held_for": "", "last_error": CANCELLED},
)


class Budget:
    """How long a piece of work may go on. None: until it is done."""

    def __init__(self, length: timedelta | None) -> None:
        self._end = None if length is None else time.monotonic() + length.total_seconds()

    @property
    def is_spent(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end


def move(*, issue_ids: Iterable[int], move: Move, now: datetime, budget: Budget) -> int:
    """Moves what there is of these issues, or what the budget allows. Returns how many."""
    moved = 0
    for pk in issue_ids:
        while not budget.is_spent and (count := move_batch(issue_id=pk, move=move, now=now)):
            moved += count
    return moved


@transaction.atomic
def move_batch(*, issue_id: int, move: Move, now: datetime) -> int:
    """One batch. What somebody else holds at this moment is left for the next round."""
    locked = Issue.objects.select_for_update(no_key=True).filter(pk=issue_id).values_list("pk").first()
    issue = Issue.objects.select_related("subscribable").defer("html", "text").filter(pk=issue_id).first()
    if locked is None or issue is None or not move.fits(issue):
        return 0
    rows = Delivery.objects.filter(move.rows, issue=issue_id).order_by()
    pks = list(rows.select_for_update(skip_locked=True).values_list("pk", flat=True)[:BATCH])
    # Named once more: an UPDATE says which state it leaves.
    return Delivery.objects.filter(move.rows, pk__in=pks).update(**move.changes(now))
