"""By hand: a delivery is tried again or cancelled, and what backs off is tried at once.

Lanes keep their limits, collections their ends, workers their leases.
"""

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
    """The delivery is on its way, has arrived, or must not go. The message says which."""


@dataclass(frozen=True, slots=True)
class Retry:
    """How many failed deliveries of an issue can be tried again, and how many must not be."""

    retryable: int
    # On the suppression list, disabled, left: a further try would be cancelled.
    skipped: int


@transaction.atomic
def retry_delivery(*, delivery: Delivery, now: datetime) -> None:
    """Queues the delivery again, due now. Raises NotRetryable for one that is queued, sending or sent."""
    if is_forgotten(delivery):
        raise NotRetryable(
            "What this mail was made from was forgotten after KEEP_DAYS: it cannot be sent again."
        )
    if delivery.issue_id is not None:
        _refuse_over(locked_issue(delivery.issue_id))
        # The pause would hold it again at once.
        paused = Delivery.objects.filter(state=Delivery.State.HELD, held_for=Delivery.HeldFor.PAUSE)
        if paused.filter(pk=delivery.pk).exists():
            raise NotRetryable(f"{PAUSED} Resume that, and it goes on.")
    rows = Delivery.objects.filter(pk=delivery.pk, state__in=RETRYABLE)
    if not rows.update(**_anew(now)):
        state = Delivery.objects.values_list("state", flat=True).get(pk=delivery.pk)
        raise NotRetryable(f"Delivery {delivery.pk} is {state}: there is nothing to try again.")
    # What was kept in the mailbox is kept anew if there still is no mail server.
    MailboxMessage.objects.filter(delivery=delivery).delete()


def failed_of(issue_id: int, domain: str = "") -> Retry:
    """How many have failed, of the issue or of one recipients' domain. Two queries."""
    failed = _failed(issue_id, domain)
    every, retryable = failed.count(), _may_be_sent(failed).count()
    return Retry(retryable=retryable, skipped=every - retryable)


def failed_domains(issue_id: int) -> list[tuple[str, int]]:
    """The domains to which most deliveries of an issue failed, and how many each has."""
    rows = _failed(issue_id).values_list("domain").annotate(count=Count("pk"))
    return list(rows.order_by("-count", "domain")[:MOST_DOMAINS_TO_RETRY])


def retry_failed(*, issue_id: int, now: datetime, domain: str = "", budget: timedelta | None = None) -> int:
    """Queues the failed deliveries of an issue, or of one domain of it, that may be sent. Returns how many.

    In batches: what a budget leaves is done by the next call. Raises NotRetryable for an issue
    that was cancelled, or whose letter was forgotten.
    """
    left, queued = TimeBudget(budget), 0
    while not left.is_spent:
        with transaction.atomic():
            _refuse_over(locked_issue(issue_id))
            # What failed again since we began is not tried for ever.
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
    """The fields of a delivery that was just published."""
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
        raise NotRetryable("Its issue was cancelled: the rest of it goes to nobody.")
    if issue.pruned_at is not None:
        raise NotRetryable("The letter was forgotten after KEEP_DAYS: it cannot be sent again.")


def make_collections_due(*, now: datetime) -> int:
    """Has collections that wait after a failure tried at once. Returns how many."""
    return Assignable.objects.filter(next_try_at__gt=now, failures__gt=0).update(next_try_at=now)


def make_deliveries_due(*, now: datetime) -> int:
    """Makes deferred deliveries due at once. Returns how many."""
    return Delivery.objects.filter(state=Delivery.State.DEFERRED, due_at__gt=now).update(due_at=now)


def cancel_delivery(*, delivery: Delivery) -> None:
    """Cancels a delivery that waits. A second time changes nothing. Raises CannotAct for any other."""
    cancelled, held = Delivery.State.CANCELLED, Delivery.State.HELD
    waiting = Delivery.objects.filter(pk=delivery.pk, state__in=(*WAITING, held))
    if waiting.update(state=cancelled, held_for="", last_error="Cancelled by hand."):
        return
    state = Delivery.objects.values_list("state", flat=True).get(pk=delivery.pk)
    if state != cancelled:
        raise CannotAct(f"Delivery {delivery.pk} is {state}: there is nothing to cancel.")
