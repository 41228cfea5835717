"""Excluding: taking items out of open collections. Works until a collection is sealed."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from feeds.items.held import note_decided
from feeds.models import Item
from subscriptions.collections.assign import lock_for_membership
from subscriptions.models import Assignable, Assignment, SeenLink, Subscribable

EXCLUDED_BY_HAND = "by hand"


def exclude_items(*, item_ids: Iterable[int], now: datetime, reason: str = EXCLUDED_BY_HAND) -> int:
    """Excludes each item that no sealed collection holds and that was not sent. Returns how many."""
    return sum(exclude(item_id=pk, reason=reason) for pk in item_ids)


def exclude(*, item_id: int, reason: str) -> bool:
    """Excludes one item, and takes it out of every open collection. False when it is too late."""
    with transaction.atomic():
        # Locked are the newsletters whose collections hold the item, and those that may be about to take it.
        takers = Subscribable.objects.filter(feeds__items=item_id).values("pk")
        holders = Assignable.objects.filter(items=item_id).values("subscribable")
        lock_for_membership(Subscribable.objects.filter(Q(pk__in=takers) | Q(pk__in=holders)))
        there = Item.objects.filter(pk=item_id, state__in=("unassigned", "assigned"))
        item = there.select_for_update().first()
        held = Assignment.objects.filter(item=item_id)
        if item is None or held.filter(assignable__seal_token__isnull=False).exists():
            return False
        collections = list(held.values_list("assignable_id", flat=True))
        # These newsletters no longer have the post by this item, so they take a copy by another feed.
        # Newsletters that sent it already keep the note.
        SeenLink.objects.filter(item=item, subscribable__assignables__in=collections).delete()
        held.delete()
        # An emptied collection would be an empty issue.
        Assignable.objects.filter(pk__in=collections, assignments=None, seal_token=None).delete()
        Item.objects.filter(pk=item.pk, state=item.state).update(
            state=Item.State.EXCLUDED,
            reason=reason,
            entry=None,
            content_hash="",
            final_at=None,
            vanished_at=None,
            rolled_off_at=None,
            held_at=None,
            set_aside_at=None,
        )
    if item.held_at is not None:
        # In a transaction of its own: the feed's row is locked before those of its items, never after them.
        note_decided(feed_id=item.feed_id)
    return True
