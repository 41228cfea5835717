"""Recipients of an issue while readers switch between newsletters of the same feeds.

subscriptions/rules/switches.py explains a post's place in the rarer newsletter.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from common.passes import TimeBudget
from delivery.models import Delivery, Issue, IssueItem
from delivery.models.delivery import NOT_FINISHED
from feeds.models import Item
from subscriptions.collections.assign import lock_for_membership
from subscriptions.collections.readiness import facts_of_feeds
from subscriptions.models import Assignable, Assignment, FrequencyChange, Subscribable, Subscription
from subscriptions.rules.collections import number_of
from subscriptions.rules.completion import is_closed
from subscriptions.rules.switches import Bound, Place, goes_to_new, goes_to_old, is_olds
from subscriptions.subscribers.frequency import apply_switches

log = logging.getLogger(__name__)

SWITCHES_A_BATCH = 500
# A post's item, and its issue's place for deleted items.
PlacedPost = tuple[int | None, Place]
CUT_FIELDS = ("old__subscribable", "new__subscribable", "rarer", "at", "number")


@dataclass(frozen=True, slots=True)
class Cut:
    """Switches between two newsletters with the same cut: a time or an issue number.

    `old`, `new` and `rarer` are newsletter keys.
    """

    old: int
    new: int
    rarer: int
    at: datetime | None
    number: int | None

    @property
    def switches(self) -> "QuerySet[FrequencyChange]":
        names = dict(zip(CUT_FIELDS, (self.old, self.new, self.rarer, self.at, self.number), strict=True))
        return FrequencyChange.objects.filter(settled_at=None, **names)

    @property
    def bound(self) -> Bound:
        return Bound(at=self.at, number=self.number)


def not_switching(issue: Issue, recipients: "QuerySet[Subscription]") -> "QuerySet[Subscription]":
    """Exclude readers who get all its posts from the other newsletter of their switch."""
    for cut in cuts(Q(old__subscribable=issue.subscribable_id) | Q(new__subscribable=issue.subscribable_id)):
        posts = _olds(cut, _posts_of(issue))
        if not goes_to_old(posts) and cut.old == issue.subscribable_id:
            recipients = recipients.filter(~Exists(cut.switches.filter(old=OuterRef("pk"))))
        if not goes_to_new(posts) and cut.new == issue.subscribable_id:
            joining = cut.switches.filter(new=OuterRef("pk"), was_there=False)
            recipients = recipients.filter(~Exists(joining))
    return recipients


def switches_to_apply(now: datetime) -> tuple[QuerySet[Any], ...]:
    """Return querysets; `apply_frequency_changes` may have work if one has a row."""
    return FrequencyChange.objects.filter(is_ripe(now), settled_at=None), _ended()


def apply_frequency_changes(*, now: datetime, budget: timedelta | None = None) -> int:
    """Settle decided switches and end old subscriptions. Return how many switches."""
    left, settled = TimeBudget(budget), 0
    for cut in cuts(is_ripe(now)):
        try:
            while not left.is_spent and _is_decided(cut, now) and (count := _settle_batch(cut, now)):
                settled += count
        except Exception:
            log.exception("settling switches failed", extra={"newsletter": cut.old})
    unsubscribe_switched()
    return settled


def is_ripe(now: datetime) -> Q:
    """Filter switches whose time or issue number has passed."""
    return Q(at__lte=now) | Q(rarer__counter__gt=F("number"))


def cuts(which: Q) -> list[Cut]:
    rows = FrequencyChange.objects.filter(which, settled_at=None).order_by()
    return [Cut(*values) for values in rows.values_list(*CUT_FIELDS).distinct()]


@transaction.atomic
def _settle_batch(cut: Cut, now: datetime) -> int:
    """Settle a batch, under locks that keep posts from joining a collection."""
    lock_for_membership(Subscribable.objects.filter(pk__in={cut.old, cut.new}))
    if not _is_decided(cut, now):
        return 0
    # Wait until the switch cannot be undone.
    ready = cut.switches.exclude(~Q(new__status="confirmed"), new__undo_until__gt=now)
    rows = list(ready.select_for_update(of=("self",)).order_by("pk")[:SWITCHES_A_BATCH])
    apply_switches(switches=rows, now=now)
    return len(rows)


def _is_decided(cut: Cut, now: datetime) -> bool:
    """Return whether switching readers get all future issues by the new newsletter only."""
    rarer = Subscribable.objects.get(pk=cut.rarer)
    collections = Assignable.objects.filter(subscribable=rarer)
    # The rarer newsletter must have issued all posts before the cut.
    if cut.at is None:
        numbers = [number_of(name) for name in collections.values_list("within_type_id", flat=True)]
        is_through = all(number is None or number > (cut.number or 0) for number in (rarer.counter, *numbers))
    else:
        grace = timedelta(minutes=rarer.grace_minutes)
        is_through = is_closed(cut.at, facts_of_feeds(rarer, cut.at), now, grace=grace)
        is_through = is_through and not collections.filter(period_end__lte=cut.at).exists()
    return (
        is_through
        and not any(goes_to_old(_olds(cut, posts)) for posts in _to_come(cut.old))
        and all(goes_to_new(_olds(cut, posts)) for posts in _to_come(cut.new))
    )


def _posts_of(issue: Issue) -> list[PlacedPost]:
    known = Place(issue.period_end or issue.created_at, issue.period_end, number_of(issue.within_type_id))
    rows = IssueItem.objects.filter(issue=issue).values_list("item_id", "item__final_at")
    posts: list[PlacedPost] = [(pk, Place(final_at) if final_at else known) for pk, final_at in rows]
    return posts or [(None, known)]


def _to_come(subscribable_id: int) -> Iterable[list[PlacedPost]]:
    """Return the posts of each open collection and each draft."""
    rows = Assignment.objects.filter(assignable__subscribable=subscribable_id)
    open_: dict[int, list[PlacedPost]] = {}
    for collection, pk, final_at, at in rows.values_list(
        "assignable", "item", "item__final_at", "assigned_at"
    ):
        open_.setdefault(collection, []).append((pk, Place(final_at or at)))
    drafts = Issue.objects.filter(subscribable=subscribable_id, published_at=None, cancelled_at=None)
    return [*open_.values(), *(_posts_of(issue) for issue in drafts.defer("html", "text", "placeholders"))]


def _olds(cut: Cut, posts: Sequence[PlacedPost]) -> list[bool]:
    """Return for each post whether the old newsletter sends it."""
    items = [pk for pk, _ in posts if pk is not None]
    waiting = Assignment.objects.filter(assignable__subscribable=cut.rarer, item__in=items)
    issued = IssueItem.objects.filter(issue__subscribable=cut.rarer, item__in=items).order_by("-issue")
    final = dict(Item.objects.filter(pk__in=items).values_list("pk", "final_at"))
    rows = [
        *waiting.values_list("item", "assignable__period_end", "assignable__within_type_id", "assigned_at"),
        # Newest first: if a post was sent again, its first issue wins.
        *issued.values_list("item", "issue__period_end", "issue__within_type_id", "issue__created_at"),
    ]
    places = {pk: Place(final[pk] or at, end, number_of(name)) for pk, end, name, at in rows}
    past = Subscribable.objects.filter(pk=cut.rarer, counter__gt=cut.number or 0)
    is_over = cut.number is not None and past.exists()
    found = [places.get(pk or 0, otherwise) for pk, otherwise in posts]
    return [is_olds(cut.bound, place, is_over=is_over) for place in found]


def _ended() -> "QuerySet[Subscription]":
    return Subscription.objects.filter(ended_at__isnull=False).order_by()


@transaction.atomic
def unsubscribe_switched() -> int:
    """Unsubscribe readers whose switch ended and who have no pending letter. Return how many."""
    rows = _ended()
    # Runs every second; on SQLite even an UPDATE of no row waits for the writer.
    if not rows.exists():
        return 0
    # Unsubscribed by other means.
    rows.exclude(status="confirmed").update(ended_at=None)
    on_the_way = Delivery.objects.filter(subscription=OuterRef("pk"), state__in=NOT_FINISHED)
    done = list(rows.filter(~Exists(on_the_way)).values_list("pk", flat=True)[:SWITCHES_A_BATCH])
    ended = rows.filter(pk__in=done, status="confirmed")
    return ended.update(status="unsubscribed", left_at=F("ended_at"), ended_at=None)
