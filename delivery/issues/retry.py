"""Retry or cancel deliveries, and end backoffs. Rate limits, ends of collections and leases stay."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from common.passes import TimeBudget
from common.ports.panels import CannotAct
from common.refused import Refused
from delivery.issues.pause import DELIVERIES_A_BATCH, PAUSED, locked_issue
from delivery.models import Delivery, Issue, MailboxMessage
from delivery.models.delivery import WAITING, is_forgotten
from subscriptions.models import Assignable, Subscription, Suppression

RETRYABLE = ("failed", "held", "deferred", "cancelled", "stored")
MOST_DOMAINS_TO_RETRY = 50


class NotRetryable(Refused):
    """The delivery is in progress, was sent, or must not be sent."""


@dataclass(frozen=True, slots=True)
class Retry:
    """Numbers of failed deliveries."""

    retryable: int
    # Suppressed, disabled or unsubscribed: a retry would be cancelled.
    skipped: int


@transaction.atomic
def retry_delivery(*, delivery: Delivery, now: datetime) -> None:
    """Queue a delivery again, due now. Raises NotRetryable."""
    if is_forgotten(delivery):
        raise NotRetryable("This email can’t be sent again. Its content was deleted after KEEP_DAYS.")
    if delivery.issue_id is not None:
        _refuse_over(locked_issue(delivery.issue_id))
        # The pause would hold it again at once.
        paused = Delivery.objects.filter(state=Delivery.State.HELD, held_for=Delivery.HeldFor.PAUSE)
        if paused.filter(pk=delivery.pk).exists():
            raise NotRetryable(f"{PAUSED} Resume it first.")
    rows = Delivery.objects.filter(pk=delivery.pk, state__in=RETRYABLE)
    if not rows.update(**_anew(now)):
        state = Delivery.objects.values_list("state", flat=True).get(pk=delivery.pk)
        raise NotRetryable(f"Delivery {delivery.pk} is {state}: there’s nothing to try again.")
    # Without a mail server a retry stores it again.
    MailboxMessage.objects.filter(delivery=delivery).delete()


def failed_of(issue_id: int, domain: str = "") -> Retry:
    """Count failed deliveries of an issue, or of one domain. Two queries."""
    failed = _failed(issue_id, domain)
    every, retryable = failed.count(), _may_be_sent(failed).count()
    return Retry(retryable=retryable, skipped=every - retryable)


def failed_domains(issue_id: int) -> list[tuple[str, int]]:
    """Return the domains with most failures, with counts."""
    rows = _failed(issue_id).values_list("domain").annotate(count=Count("pk"))
    return list(rows.order_by("-count", "domain")[:MOST_DOMAINS_TO_RETRY])


def retry_failed(*, issue_id: int, now: datetime, domain: str = "", budget: timedelta | None = None) -> int:
    """Queue failed deliveries that may be sent. Return how many.

    Call it again if the budget ran out. Raises NotRetryable for a cancelled issue or a deleted letter.
    """
    left, queued = TimeBudget(budget), 0
    while not left.is_spent:
        with transaction.atomic():
            _refuse_over(locked_issue(issue_id))
            # Skip what failed again since then, or the loop might not end.
            rows = _may_be_sent(_failed(issue_id, domain)).filter(created_at__lt=now)
            free = rows.select_for_update(skip_locked=True, of=("self",))
            pks = list(free.values_list("pk", flat=True)[:DELIVERIES_A_BATCH])
            failed = Delivery.objects.filter(pk__in=pks, state=Delivery.State.FAILED)
            count = failed.update(**_anew(now))
        if not count:
            break
        queued += count
    return queued


def _anew(now: datetime) -> dict[str, object]:
    fresh = {"due_at": now, "created_at": now, "attempts": 0, "sent_at": None}
    return {"state": Delivery.State.QUEUED, "held_for": "", **fresh}


def _failed(issue_id: int, domain: str = "") -> "QuerySet[Delivery]":
    rows = Delivery.objects.filter(issue=issue_id, state=Delivery.State.FAILED).order_by()
    return rows.filter(domain=domain) if domain else rows


def _may_be_sent(rows: "QuerySet[Delivery]") -> "QuerySet[Delivery]":
    same = Suppression.objects.filter(kind=OuterRef("destination__kind"), core=OuterRef("destination__core"))
    confirmed = Q(subscription__status=Subscription.Status.CONFIRMED)
    return rows.filter(~Exists(same), confirmed, destination__disabled_at=None)


def _refuse_over(issue: Issue) -> None:
    if issue.cancelled_at is not None:
        raise NotRetryable("Its issue was cancelled, so the rest won’t be sent.")
    if issue.pruned_at is not None:
        raise NotRetryable("This email can’t be sent again. Its content was deleted after KEEP_DAYS.")


def make_collections_due(*, now: datetime) -> int:
    """Retry failed collections now. Return how many."""
    return Assignable.objects.filter(next_try_at__gt=now, failures__gt=0).update(next_try_at=now)


def make_deliveries_due(*, now: datetime) -> int:
    return Delivery.objects.filter(state=Delivery.State.DEFERRED, due_at__gt=now).update(due_at=now)


def cancel_delivery(*, delivery: Delivery) -> None:
    """Cancel a waiting delivery. Safe to repeat. Raises CannotAct for other states."""
    cancelled, held = Delivery.State.CANCELLED, Delivery.State.HELD
    waiting = Delivery.objects.filter(pk=delivery.pk, state__in=(*WAITING, held))
    if waiting.update(state=cancelled, held_for="", last_error="Cancelled by hand."):
        return
    state = Delivery.objects.values_list("state", flat=True).get(pk=delivery.pk)
    if state != cancelled:
        raise CannotAct(f"Delivery {delivery.pk} is {state}: there is nothing to cancel.")
