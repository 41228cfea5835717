"""Delete old data. Deliveries stay, so that nothing is sent twice."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from operator import methodcaller
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from common.passes import TimeBudget
from delivery.bounces.record import forgettable_bounces
from delivery.models import Attempt, Broadcast, Delivery, Issue, IssueVersion, MailboxMessage
from delivery.models.delivery import FORGOTTEN_CONTEXT, NOT_FINISHED
from delivery.webhooks.outbox import forgettable_calls

ROWS_A_BATCH = 1_000
# Up to 5 MB of text each.
ISSUES_AT_ONCE = 20
FINISHED = ("sent", "stored", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class PrunedPart:
    """Rows to delete or clear, and how.

    `act` gets a batch, still filtered: rows that are needed again stay.
    """

    name: str
    rows: "QuerySet[Any]"
    act: Callable[["QuerySet[Any]"], int]
    batch: int = ROWS_A_BATCH


def prune_old_data(
    *,
    now: datetime,
    days: int | None = None,
    budget: timedelta | None = None,
    told: Callable[[int], None] | None = None,
) -> dict[str, int]:
    """Delete data older than `days` (KEEP_DAYS), within the budget. Return counts by kind.

    Each batch is a transaction; `told` gets its number of rows.
    """
    left = TimeBudget(budget)
    counts = {}
    for part in parts_to_prune(now=now, days=days):
        counts[part.name] = 0
        after = 0
        rows = part.rows.order_by("pk").values_list("pk", flat=True)
        # Each row once.
        while pks := list(rows.filter(pk__gt=after)[: part.batch]):
            after = pks[-1]
            with transaction.atomic():
                count = part.act(part.rows.filter(pk__in=pks))
            counts[part.name] += count
            if told:
                told(count)
            if left.is_spent:
                return counts
    return counts


def prunable(*, now: datetime, days: int | None = None) -> dict[str, int]:
    return {part.name: part.rows.count() for part in parts_to_prune(now=now, days=days)}


def parts_to_prune(*, now: datetime, days: int | None = None) -> list[PrunedPart]:
    """Return all parts. Reports have their own periods (`forgettable_bounces`)."""
    before = now - timedelta(days=settings.KEEP_DAYS if days is None else days)
    attempts = Attempt.objects.filter(at__lt=before, delivery__state__in=FINISHED)
    on_its_way = Delivery.objects.filter(issue=OuterRef("pk"), state__in=NOT_FINISHED)
    over = Issue.objects.filter(published_at__lt=before) | Issue.objects.filter(cancelled_at__lt=before)
    # Emails of a series are sent for years.
    in_series = Broadcast.objects.filter(issue=OuterRef("pk"), series_place__isnull=False)
    issues = over.filter(~Exists(on_its_way), ~Exists(in_series), pruned_at=None)
    mails = Delivery.objects.filter(issue=None, created_at__lt=before, state__in=FINISHED)
    mails = mails.exclude(context={}).exclude(context=FORGOTTEN_CONTEXT)
    kept = MailboxMessage.objects.filter(stored_at__lt=before, delivery__state__in=FINISHED)
    return [
        PrunedPart("attempts", attempts, _delete),
        PrunedPart("issues", issues, partial(_forget_texts, now=now), ISSUES_AT_ONCE),
        PrunedPart("mails", mails, methodcaller("update", context=FORGOTTEN_CONTEXT)),
        PrunedPart("mailbox", kept, _delete, ISSUES_AT_ONCE),
        PrunedPart("bounces", forgettable_bounces(now=now), _delete),
        PrunedPart("calls", forgettable_calls(before), _delete),
    ]


def _delete(rows: "QuerySet[Any]") -> int:
    return rows.delete()[0]


def _forget_texts(rows: "QuerySet[Any]", *, now: datetime) -> int:
    # Workers that queue letters again lock the issue, too. `rows` checks again for pending ones: the first
    # lock decides.
    pks = list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))
    IssueVersion.objects.filter(issue__in=pks).delete()
    return rows.update(html="", text="", pruned_at=now)
