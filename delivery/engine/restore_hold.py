"""After a restore from a backup: nothing that was there before goes out until somebody says so.

A backup does not know what was sent after it was made. While a `Restore` is open, the claim holds what is
due instead of sending it (`waits_for_go`), so that neither a collection which the backup still held open nor
a row that is queued later slips through.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Min, Q
from django.utils import timezone

from common.db.leases import RELEASED
from common.passes import TimeBudget
from common.ports.restores import hold_unsent
from common.refused import Refused
from delivery.models import Delivery, Issue, Lane, Restore
from delivery.models.delivery import PENDING_STATES, WAITING
from feeds.items.held import hold_all

RESTORED_A_BATCH = 2_000
HELD_ROWS = Q(state=Delivery.State.HELD, held_for=Delivery.HeldFor.RESTORE)
HELD_BY_RESTORE = "A backup was restored: it may have been sent before that."
# What a held row says, and keeps in no other state.
HOLDING = {"state": Delivery.State.HELD, "held_for": Delivery.HeldFor.RESTORE, "last_error": HELD_BY_RESTORE}


@dataclass(frozen=True, slots=True)
class HeldIssue:
    """What is held of an issue; `issue` is None for all mails that are none. Times are of their making."""

    issue: Issue | None
    count: int
    oldest: datetime
    newest: datetime


@dataclass(frozen=True, slots=True)
class HeldByRestore:
    """How many deliveries and posts were held."""

    deliveries: int
    posts: int


class AlreadyOpen(Refused):
    """A second restore while one waits for somebody's word."""

    def __init__(self, since: datetime) -> None:
        super().__init__(f"A restore is open already, since {timezone.localtime(since):%Y-%m-%d %H:%M %Z}.")
        self.since = since


def is_open() -> Restore | None:
    """The restore that waits for somebody's word. One small question.

    A claim asks it under its lane's lock, after choosing its rows: `begin` and `go` wait for claims that
    asked before them.
    """
    return Restore.objects.filter(released_at=None).order_by("begun_at").first()


def waits_for_go(restore: Restore) -> Q:
    """The deliveries that may not go out while it is open: all but mails made after it began."""
    return Q(kind=Delivery.Kind.ISSUE) | Q(created_at__lt=restore.begun_at)


def hold_back(*, restore: Restore, pks: Collection[int]) -> int:
    """A claim has chosen these waiting rows: holds the ones that may not go. Returns how many.

    Within the claim's transaction, between choosing and leasing; what is still due then may go.
    """
    rows = Delivery.objects.filter(waits_for_go(restore), pk__in=pks, state__in=WAITING)
    return rows.update(**HOLDING)


def begin(*, now: datetime) -> HeldByRestore:
    """Holds all that is unsent, and what feeds will show as new. Raises AlreadyOpen.

    Cut off in the middle, it leaves rows that the claim holds.
    """
    with transaction.atomic():
        if (earlier := is_open()) is not None:
            raise AlreadyOpen(earlier.begun_at)
        restore, posts = Restore.objects.create(begun_at=now), hold_all(now=now)
        hold_unsent(now)
    _let_claims_end()
    deliveries, which = 0, waits_for_go(restore) & Q(state__in=PENDING_STATES)
    while count := _update_batch(which, **HOLDING, **RELEASED):
        deliveries += count
    return HeldByRestore(deliveries, posts)


def go(*, now: datetime, budget: timedelta | None = None) -> int:
    """Sends what was held: queues it again, the oldest first. Returns how many so far. Safe to repeat.

    What the budget leaves is queued by `finish_go`. What feeds hold stays held: it is decided on there.
    """
    Restore.objects.filter(released_at=None).update(released_at=now)
    _let_claims_end()
    return _queue(now, TimeBudget(budget))


def finish_go(*, now: datetime, budget: timedelta | None = None) -> int:
    """Goes on queueing what was let go, where a click was too short for it. Returns how many."""
    if is_open() is not None or not Delivery.objects.filter(HELD_ROWS).exists():
        return 0
    return _queue(now, TimeBudget(budget))


def _queue(now: datetime, budget: TimeBudget) -> int:
    queued = 0
    # The days of waiting do not count against those after which a letter is given up.
    fresh = {
        "state": Delivery.State.QUEUED, "held_for": "", "last_error": "", "created_at": now, "due_at": now
    }  # fmt: skip
    while not budget.is_spent and (count := _update_batch(HELD_ROWS, **fresh)):
        queued += count
    return queued


def held_issues() -> list[HeldIssue]:
    """What is held because of a restore, by newsletter and issue. Two questions."""
    rows = Delivery.objects.filter(HELD_ROWS).order_by().values("issue")
    counts = list(rows.annotate(n=Count("pk"), oldest=Min("created_at"), newest=Max("created_at")))
    issues = Issue.objects.select_related("subscribable").defer("html", "text", "holes")
    known = issues.in_bulk([row["issue"] for row in counts if row["issue"]])
    held = [HeldIssue(known.get(row["issue"]), row["n"], row["oldest"], row["newest"]) for row in counts]
    return sorted(held, key=lambda one: (one.issue.subscribable.name if one.issue else "", one.oldest))


@transaction.atomic
def _let_claims_end() -> None:
    """Waits for claims that began before our last commit; those that begin after it know of it."""
    list(Lane.objects.select_for_update().order_by("pk").values_list("pk"))


@transaction.atomic
def _update_batch(which: Q, **changes: Any) -> int:
    """Changes some of those rows, the oldest first. Returns how many."""
    locked = Delivery.objects.filter(which).order_by("pk").select_for_update()
    pks = list(locked.values_list("pk", flat=True)[:RESTORED_A_BATCH])
    return Delivery.objects.filter(which, pk__in=pks).update(**changes)
