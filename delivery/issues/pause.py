"""Pause, resume, cancel and retry issues, and pause newsletters.

Each sets a flag at once. Workers claim nothing that is paused, and hand back claimed deliveries as soon as
one more letter was accepted. The ledger follows in batches, one transaction each: here within the budget, the
rest in `finish_pauses`. Each batch checks first, under the issue's lock, whether the change still applies. So
of concurrent calls the last one wins.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, SmallIntegerField, Value, When

from channels.rules.corrections import change_key
from common.passes import TimeBudget
from common.ports.panels import CannotAct
from common.refused import Refused
from common.text import one_line, pluralize
from delivery.models import Delivery, Issue, MailboxMessage
from delivery.models.delivery import FORGOTTEN_CONTEXT, NOT_FINISHED, WAITING
from subscriptions.models import Assignable, Subscribable, Subscription, Suppression

DELIVERIES_A_BATCH = 2000
BY_PAUSE = Delivery.HeldFor.PAUSE
PAUSED_BY_HAND = "Paused by hand."
CANCELLED = "The rest of its issue was cancelled."
CANCELLED_BY_HAND = "Cancelled by hand."
PAUSED = "Its issue or newsletter is paused."
CLICK_BUDGET = timedelta(seconds=2)
# Seconds that a person waits for workers, and between two checks.
RECALL_WAIT, RECALL_LOOK = 1.0, 0.1
LONGEST_PAUSE_REASON = 2000
RETRYABLE = ("failed", "held", "deferred", "cancelled", "stored")
MOST_DOMAINS_TO_RETRY = 50
# Added to the number of an editor's edit: corrections have lower ones.
BY_EDITOR = 1_000_000
CHANGE_PRIORITY = {Delivery.Kind.EDIT: Delivery.Priority.ISSUE, Delivery.Kind.DELETE: Delivery.Priority.FIRST}


@dataclass(frozen=True, slots=True)
class Move:
    """Change of deliveries. `rows` selects them; the issue must satisfy `fits`."""

    rows: Q
    fits: Callable[[Issue], bool]
    changes: Callable[[datetime], Mapping[str, Any]]


def is_paused(issue: Issue) -> bool:
    return issue.paused_at is not None or issue.subscribable.sending_paused_at is not None


HOLD = Move(
    rows=Q(state__in=WAITING),
    fits=lambda issue: is_paused(issue) and issue.cancelled_at is None,
    changes=lambda now: {"state": Delivery.State.HELD, "held_for": BY_PAUSE},
)
# Days of pause do not count towards giving a letter up, so `created_at` is reset.
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
    """Change these issues' deliveries, within the budget. Return how many."""
    moved = 0
    for pk in issue_ids:
        while not budget.is_spent and (count := move_batch(issue_id=pk, move=move, now=now)):
            moved += count
    return moved


@transaction.atomic
def move_batch(*, issue_id: int, move: Move, now: datetime) -> int:
    """Change one batch, except rows that are locked elsewhere."""
    locked = Issue.objects.select_for_update(no_key=True).filter(pk=issue_id).values_list("pk").first()
    issue = Issue.objects.select_related("subscribable").defer("html", "text").filter(pk=issue_id).first()
    if locked is None or issue is None or not move.fits(issue):
        return 0
    rows = Delivery.objects.filter(move.rows, issue=issue_id).order_by()
    pks = list(rows.select_for_update(skip_locked=True).values_list("pk", flat=True)[:DELIVERIES_A_BATCH])
    # The UPDATE must check the state again.
    return Delivery.objects.filter(move.rows, pk__in=pks).update(**move.changes(now))


def pause_issue(*, issue_id: int, now: datetime, budget: timedelta | None = CLICK_BUDGET) -> bool:
    """Hold unsent deliveries. Return False if already paused. Raises CannotAct."""
    with transaction.atomic():
        issue = locked_issue(issue_id)
        _refuse_unpublished(issue, "There’s nothing to pause.")
        if issue.paused_at is not None:
            return False
        unfinished = issue.deliveries.filter(state__in=NOT_FINISHED)
        if issue.cancelled_at is not None or not unfinished.exists():
            raise CannotAct("All of it was sent or has ended, so there’s nothing to pause.")
        Issue.objects.filter(pk=issue_id, paused_at=None).update(paused_at=now)
    move(issue_ids=[issue_id], move=HOLD, now=now, budget=TimeBudget(budget))
    return True


def resume_issue(*, issue_id: int, now: datetime, budget: timedelta | None = None) -> int:
    """Queue held deliveries. Return how many so far. Raises CannotAct.

    Queues none while the newsletter is paused.
    """
    with transaction.atomic():
        issue = locked_issue(issue_id)
        _refuse_unpublished(issue, "There’s nothing to resume.")
        # Those under way during an edit may have come back.
        take_newest_version(issue)
        Issue.objects.filter(pk=issue_id, paused_at__isnull=False).update(paused_at=None, paused_reason="")
    return move(issue_ids=[issue_id], move=QUEUE, now=now, budget=TimeBudget(budget))


def take_newest_version(issue: Issue) -> int:
    """Let unsent deliveries of a locked issue have its newest text. Return how many changed.

    One whose earlier attempt had an unknown end keeps its text: repeated, it must say the same.
    """
    waiting = issue.deliveries.filter(state__in=(*WAITING, Delivery.State.HELD), begun_at=None)
    return waiting.filter(version__lt=issue.version).update(version=issue.version) if issue.version else 0


@transaction.atomic
def hide_issue(issue: Issue, *, now: datetime) -> None:
    """Take it off all pages, and delete what companions published."""
    Issue.objects.filter(pk=issue.pk).update(is_hidden=True)
    change_at_companions(issue, now=now, is_deletion=True)


def change_at_companions(issue: Issue, *, now: datetime, is_deletion: bool = False) -> None:
    """Queue an edit, or a deletion, of what companions published."""
    kind, number = Delivery.Kind.EDIT, BY_EDITOR + issue.version
    if is_deletion:
        kind, number = Delivery.Kind.DELETE, 1
    if kinds := issue.subscribable.companions.split():
        for post in issue.deliveries.filter(destination__kind__in=kinds, state=Delivery.State.SENT):
            add_change(post, kind, number, now)


def add_change(post: Delivery, kind: Delivery.Kind, number: int, now: datetime) -> bool:
    """Queue an edit or deletion of a sent post once. Return whether it is new."""
    _, is_new = Delivery.objects.get_or_create(
        kind=kind,
        key=change_key(post.pk, number),
        issue=None,
        defaults={
            "destination_id": post.destination_id,
            "subscription_id": post.subscription_id,
            "language": post.language,
            "lane_id": post.lane_id,
            "domain": post.domain,
            "priority": CHANGE_PRIORITY[kind],
            "created_at": now,
            "due_at": now,
        },
    )
    return is_new


def cancel_issue(*, issue_id: int, now: datetime, budget: timedelta | None = None) -> int:
    """Cancel unsent deliveries. Return how many so far. Safe to repeat. Raises CannotAct for a draft."""
    with transaction.atomic():
        _refuse_unpublished(locked_issue(issue_id), "Discard it instead.")
        Issue.objects.filter(pk=issue_id, cancelled_at=None).update(cancelled_at=now)
    return move(issue_ids=[issue_id], move=CANCEL, now=now, budget=TimeBudget(budget))


@transaction.atomic
def pause_newsletter(*, subscribable_id: int, reason: str, now: datetime) -> bool:
    """Pause all sending of the newsletter. Return False if already paused."""
    rows = Subscribable.objects.filter(pk=subscribable_id, sending_paused_at=None)
    changes = {"sending_paused_at": now, "sending_paused_reason": one_line(reason)[:LONGEST_PAUSE_REASON]}
    return bool(rows.update(**changes))


def resume_newsletter(*, subscribable_id: int, now: datetime, budget: timedelta | None = None) -> int:
    """Resume issues that are not paused themselves. Return the deliveries queued so far."""
    with transaction.atomic():
        paused = Subscribable.objects.filter(pk=subscribable_id, sending_paused_at__isnull=False)
        paused.update(sending_paused_at=None, sending_paused_reason="")
    held = _issues_with(QUEUE.rows, Issue.objects.filter(subscribable=subscribable_id))
    return move(issue_ids=held, move=QUEUE, now=now, budget=TimeBudget(budget))


def still_going(*, issues: "QuerySet[Issue]") -> int:
    """Wait a moment for workers. Return how many letters may still go out."""
    rows = Delivery.objects.filter(issue__in=issues, state=Delivery.State.SENDING)
    end = time.monotonic() + RECALL_WAIT
    while (count := rows.count()) and time.monotonic() < end:
        time.sleep(RECALL_LOOK)
    return count


def what_still_goes(issues: "QuerySet[Issue]") -> str:
    """Return a sentence about letters that may still go out. Waits a moment."""
    return going_words(still_going(issues=issues))


def going_words(count: int) -> str:
    if not count:
        return "Nothing more will be sent."
    return f"Up to {pluralize(count, 'email')} had already been handed over and may still be sent."


def finish_pauses(*, now: datetime, budget: timedelta | None = None) -> int:
    """Finish changes that took longer than a click or whose worker died. Return the rows changed."""
    left = TimeBudget(budget)
    paused = Q(paused_at__isnull=False) | Q(subscribable__sending_paused_at__isnull=False)
    out = Issue.objects.filter(published_at__isnull=False)
    moves = [(CANCEL, out.filter(cancelled_at__isnull=False)), (HOLD, out.filter(paused, cancelled_at=None))]
    # Otherwise every issue would be queried.
    if Delivery.objects.filter(QUEUE.rows).exists():
        moves.append((QUEUE, out.filter(cancelled_at=None).exclude(paused)))
    return sum(
        move(issue_ids=_issues_with(each.rows, issues), move=each, now=now, budget=left)
        for each, issues in moves
    )


def _issues_with(rows: Q, issues: "QuerySet[Issue]") -> list[int]:
    found = issues.filter(Exists(Delivery.objects.filter(rows, issue=OuterRef("pk"))))
    return list(found.order_by("pk").values_list("pk", flat=True))


def locked_issue(issue_id: int) -> Issue:
    """Return the locked issue without its letter. Raises CannotAct."""
    rows = Issue.objects.select_for_update(no_key=True).defer("html", "text", "placeholders")
    issue = rows.filter(pk=issue_id).first()
    if issue is None:
        raise CannotAct("There is no such issue any more.")
    return issue


def refuse_old(issue: Issue) -> None:
    """Raises CannotAct for an issue that another program sent."""
    if issue.issue_import_id is not None:
        raise CannotAct(f"“{issue}” was sent by another program. It’s only in the archive.")


def _refuse_unpublished(issue: Issue, hint: str) -> None:
    refuse_old(issue)
    if issue.published_at is None:
        raise CannotAct(f"“{issue}” wasn’t sent. {hint}")


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
    if delivery.issue_id is None and delivery.context == FORGOTTEN_CONTEXT:
        raise NotRetryable("This email can’t be sent again. Its content was deleted after KEEP_DAYS.")
    issue = None
    if delivery.issue_id is not None:
        issue = locked_issue(delivery.issue_id)
        _refuse_over(issue)
        # The pause would hold it again at once.
        paused = Delivery.objects.filter(state=Delivery.State.HELD, held_for=Delivery.HeldFor.PAUSE)
        if paused.filter(pk=delivery.pk).exists():
            raise NotRetryable(f"{PAUSED} Resume it first.")
    rows = Delivery.objects.filter(pk=delivery.pk, state__in=RETRYABLE)
    if not rows.update(**_anew(now, issue)):
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
            issue = locked_issue(issue_id)
            _refuse_over(issue)
            # Skip what failed again since then, or the loop might not end.
            rows = _may_be_sent(_failed(issue_id, domain)).filter(created_at__lt=now)
            free = rows.select_for_update(skip_locked=True, of=("self",))
            pks = list(free.values_list("pk", flat=True)[:DELIVERIES_A_BATCH])
            failed = Delivery.objects.filter(pk__in=pks, state=Delivery.State.FAILED)
            count = failed.update(**_anew(now, issue))
        if not count:
            break
        queued += count
    return queued


def _anew(now: datetime, issue: Issue | None) -> dict[str, object]:
    fresh: dict[str, object] = {"due_at": now, "created_at": now, "attempts": 0, "sent_at": None}
    if issue is not None and issue.version:
        newest = Value(issue.version, SmallIntegerField())
        fresh["version"] = Case(When(begun_at=None, then=newest), default=F("version"))
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
    if waiting.update(state=cancelled, held_for="", last_error=CANCELLED_BY_HAND):
        return
    state = Delivery.objects.values_list("state", flat=True).get(pk=delivery.pk)
    if state != cancelled:
        raise CannotAct(f"Delivery {delivery.pk} is {state}: there is nothing to cancel.")
