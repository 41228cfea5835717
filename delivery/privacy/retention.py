"""Forgetting what nobody needs any more. The ledger's rows stay, so that nothing goes out twice."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from common.passes import TimeBudget
from delivery.bounces.record import forgettable_bounces
from delivery.models import Attempt, Delivery, Issue, MailboxMessage
from delivery.models.delivery import FORGOTTEN, NOT_FINISHED
from delivery.webhooks.manage import forgettable_calls

BATCH = 1_000
# With texts of up to 5 MB each.
ISSUES_AT_ONCE = 20
FINISHED = ("sent", "stored", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class PrunedPart:
    """One kind of thing that is forgotten: the rows concerned, and what is done to a batch of them.

    `act` gets the rows of the batch, still filtered: what became needed meanwhile is left alone.
    """

    name: str
    rows: "QuerySet[Any]"
    act: Callable[["QuerySet[Any]"], int]
    batch: int = BATCH


def prune(
    *,
    now: datetime,
    days: int | None = None,
    budget: timedelta | None = None,
    told: Callable[[int], None] | None = None,
) -> dict[str, int]:
    """Forgets what is older than that many days (KEEP_DAYS), or as much of it as the budget allows.

    Returns how many rows of each kind. In transactions of a batch each. `told` hears of every batch.
    """
    left = TimeBudget(budget)
    counts = {}
    for part in parts(now=now, days=days):
        counts[part.name] = 0
        for count in _batches(part):
            counts[part.name] += count
            if told:
                told(count)
            if left.is_spent:
                return counts
    return counts


def prunable(*, now: datetime, days: int | None = None) -> dict[str, int]:
    """How many rows of each kind `prune` would forget."""
    return {part.name: part.rows.count() for part in parts(now=now, days=days)}


def parts(*, now: datetime, days: int | None = None) -> list[PrunedPart]:
    """All that may be forgotten. Reports keep times of their own (`forgettable_bounces`)."""
    before = now - timedelta(days=settings.KEEP_DAYS if days is None else days)
    attempts = Attempt.objects.filter(at__lt=before, delivery__state__in=FINISHED)
    kept = MailboxMessage.objects.filter(stored_at__lt=before, delivery__state__in=FINISHED)
    return [
        PrunedPart("attempts", attempts, _delete),
        PrunedPart("issues", _finished_issues(before), _forget_texts(now), ISSUES_AT_ONCE),
        PrunedPart("mails", _finished_mails(before), _forget_context),
        PrunedPart("mailbox", kept, _delete, ISSUES_AT_ONCE),
        PrunedPart("bounces", forgettable_bounces(now=now), _delete),
        PrunedPart("calls", forgettable_calls(before), _delete),
    ]


def _finished_issues(before: datetime) -> "QuerySet[Issue]":
    on_its_way = Delivery.objects.filter(issue=OuterRef("pk"), state__in=NOT_FINISHED)
    over = Issue.objects.filter(published_at__lt=before) | Issue.objects.filter(cancelled_at__lt=before)
    return over.filter(~Exists(on_its_way), pruned_at=None)


def _finished_mails(before: datetime) -> "QuerySet[Delivery]":
    mails = Delivery.objects.filter(issue=None, created_at__lt=before, state__in=FINISHED)
    return mails.exclude(context={}).exclude(context=FORGOTTEN)


def _batches(part: PrunedPart) -> Iterator[int]:
    """The counts of batches, until every row was looked at once."""
    after = 0
    rows = part.rows.order_by("pk").values_list("pk", flat=True)
    while pks := list(rows.filter(pk__gt=after)[: part.batch]):
        after = pks[-1]
        yield _forget(part, pks)


@transaction.atomic
def _forget(part: PrunedPart, pks: list[int]) -> int:
    return part.act(part.rows.filter(pk__in=pks))


def _delete(rows: "QuerySet[Any]") -> int:
    return rows.delete()[0]


def _forget_texts(now: datetime) -> Callable[["QuerySet[Any]"], int]:
    def forget(rows: "QuerySet[Any]") -> int:
        # Who queues letters of an issue again locks it, too: the question whether any is on its way, which
        # `rows` asks once more, is answered by whoever was first.
        list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk"))
        return rows.update(html="", text="", pruned_at=now)

    return forget


def _forget_context(rows: "QuerySet[Any]") -> int:
    return rows.update(context=FORGOTTEN)
