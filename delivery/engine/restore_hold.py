"""Holds everything unsent after a restore from a backup, until a person decides.

A backup does not know what was sent after it was made. While a `Restore` is open, claims hold due rows
(`waits_for_go`), even of open collections or queued later.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Max, Min, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from common.db.leases import RELEASED
from common.passes import TimeBudget
from common.ports.registries import holds
from common.refused import Refused
from delivery.models import Delivery, Issue, Lane, Restore
from delivery.models.delivery import PENDING_STATES, WAITING
from feeds.items.held import hold_all

RESTORED_A_BATCH = 2_000
HELD_ROWS = Q(state=Delivery.State.HELD, held_for=Delivery.HeldFor.RESTORE)
HELD_BY_RESTORE = "A backup was restored: it may have been sent before that."
# A held row has these, in no other state.
HOLDING = {"state": Delivery.State.HELD, "held_for": Delivery.HeldFor.RESTORE, "last_error": HELD_BY_RESTORE}


@dataclass(frozen=True, slots=True)
class HeldIssue:
    """Held deliveries of an issue, None for other mails. Times are of creation."""

    issue: Issue | None
    count: int
    oldest: datetime
    newest: datetime


@dataclass(frozen=True, slots=True)
class HeldByRestore:
    deliveries: int
    posts: int


class AlreadyOpen(Refused):
    def __init__(self, since: datetime) -> None:
        super().__init__(f"A restore is open already, since {timezone.localtime(since):%Y-%m-%d %H:%M %Z}.")
        self.since = since


def is_open() -> Restore | None:
    """Return the open restore, if any. One small query.

    Claims call it under their lane's lock, after choosing rows: `begin` and `go` wait for earlier claims.
    """
    return Restore.objects.filter(released_at=None).order_by("begun_at").first()


def waits_for_go(restore: Restore) -> Q:
    """Match deliveries that are held: all except mails made after it began."""
    return Q(kind=Delivery.Kind.ISSUE) | Q(created_at__lt=restore.begun_at)


def hold_back(*, restore: Restore, pks: Collection[int]) -> int:
    """Hold the chosen rows that must wait. Return how many.

    Runs in the claim's transaction, between choosing and leasing.
    """
    rows = Delivery.objects.filter(waits_for_go(restore), pk__in=pks, state__in=WAITING)
    return rows.update(**HOLDING)


def begin(*, now: datetime) -> HeldByRestore:
    """Hold everything unsent, and what feeds will show as new. Raises AlreadyOpen.

    If interrupted, claims hold the rest.
    """
    with transaction.atomic():
        if (earlier := is_open()) is not None:
            raise AlreadyOpen(earlier.begun_at)
        restore, posts = Restore.objects.create(begun_at=now), hold_all(now=now)
        for hold in holds:
            hold(now)
    _let_claims_end()
    deliveries, which = 0, waits_for_go(restore) & Q(state__in=PENDING_STATES)
    while count := _update_batch(which, **HOLDING, **RELEASED):
        deliveries += count
    return HeldByRestore(deliveries, posts)


def go(*, now: datetime, budget: timedelta | None = None) -> int:
    """Queue held rows again, oldest first. Return how many so far. Can be repeated.

    `finish_go` queues the rest. Posts held by feeds are decided there.
    """
    Restore.objects.filter(released_at=None).update(released_at=now)
    _let_claims_end()
    return _queue(now, TimeBudget(budget))


def finish_go(*, now: datetime, budget: timedelta | None = None) -> int:
    if is_open() is not None or not Delivery.objects.filter(HELD_ROWS).exists():
        return 0
    return _queue(now, TimeBudget(budget))


def _queue(now: datetime, budget: TimeBudget) -> int:
    queued = 0
    # The waiting days do not count towards giving up.
    fresh = {
        "state": Delivery.State.QUEUED, "held_for": "", "last_error": "", "created_at": now, "due_at": now,
        # Each may have been sent since the backup, so channels look it up first.
        "begun_at": Coalesce(F("begun_at"), F("created_at")),
    }  # fmt: skip
    while not budget.is_spent and (count := _update_batch(HELD_ROWS, **fresh)):
        queued += count
    return queued


def held_issues() -> list[HeldIssue]:
    """Two queries."""
    rows = Delivery.objects.filter(HELD_ROWS).order_by().values("issue")
    counts = list(rows.annotate(n=Count("pk"), oldest=Min("created_at"), newest=Max("created_at")))
    issues = Issue.objects.select_related("subscribable").defer("html", "text", "placeholders")
    known = issues.in_bulk([row["issue"] for row in counts if row["issue"]])
    held = [HeldIssue(known.get(row["issue"]), row["n"], row["oldest"], row["newest"]) for row in counts]
    return sorted(held, key=lambda one: (one.issue.subscribable.name if one.issue else "", one.oldest))


@transaction.atomic
def _let_claims_end() -> None:
    """Wait for claims that began before our last commit. Later ones see the restore."""
    list(Lane.objects.select_for_update().order_by("pk").values_list("pk"))


@transaction.atomic
def _update_batch(which: Q, **changes: Any) -> int:
    locked = Delivery.objects.filter(which).order_by("pk").select_for_update()
    pks = list(locked.values_list("pk", flat=True)[:RESTORED_A_BATCH])
    return Delivery.objects.filter(which, pk__in=pks).update(**changes)
