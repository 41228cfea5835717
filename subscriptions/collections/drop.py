"""Dropping feeds and newsletters: refused while something depends on them, unless forced.

A feed that people read here only loses its letters: with it they would lose the posts that they have.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from common.refused import Refused
from common.text import pluralize
from feeds.items.held import note_decided
from feeds.models import Feed, Item
from feeds.polling.store import DROPPED
from feeds.rules.only_read import LETTERS_ENDED
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


STILL_READ = "People read it here, so it stays, and is read on."


class DropRefused(Refused):
    """Something depends on it. The message says how much, and how to do it all the same."""


@transaction.atomic
def drop_feed(*, feed: Feed, force: bool, now: datetime) -> str:
    """Deletes a feed and its items, or ends its letters if it is read here.

    With posts on their way: refused, or (forced) once they went out.
    """
    lock_for_membership(Subscribable.objects.filter(feeds=feed))
    feed = Feed.objects.select_for_update().get(pk=feed.pk)
    waiting = on_the_way(feed)
    if waiting and not force:
        are = "is" if waiting == 1 else "are"
        said = f"{pluralize(waiting, 'post')} of {feed} {are} still to be sent."
        raise DropRefused(
            f"{said} Force it to let them go out first.",
            by_api=f"{said} With ?force=true they go out first.",
        )
    if waiting and feed.read_by:
        Feed.objects.filter(pk=feed.pk).update(for_letters=False, dropping=True)
        return f"{feed} is no longer sent once its last {pluralize(waiting, 'post')} went out. {STILL_READ}"
    if waiting:
        Feed.objects.filter(pk=feed.pk).update(status=Feed.Status.STOPPED, dropping=True)
        return f"{feed} is no longer read; it is deleted once its last {pluralize(waiting, 'post')} went out."
    return _drop_now(feed)


def _drop_now(feed: Feed) -> str:
    """Under the locks of its newsletters and its own row, with nothing of it on the way."""
    if not feed.read_by:
        feed.delete()
        return f"{feed} was deleted."
    feed.subscribables.clear()
    Item.objects.filter(feed=feed, state=Item.State.UNASSIGNED).update(**DROPPED, reason=LETTERS_ENDED)
    Feed.objects.filter(pk=feed.pk).update(for_letters=False, dropping=False, held_since=None)
    return f"{feed} is no longer sent. {STILL_READ}"


def on_the_way(feed: Feed) -> int:
    """How many posts of the feed are in open collections, or have settled and are taken in within moments."""
    return (
        feed.items.filter(state=Item.State.ASSIGNED).count() + Item.objects.final().filter(feed=feed).count()
    )


@transaction.atomic
def drop_subscribable(*, subscribable: Subscribable, force: bool, now: datetime) -> str:
    """Deletes a newsletter with its issues and its queued letters. With subscribers only when forced."""
    lock_for_membership(Subscribable.objects.filter(pk=subscribable.pk))
    count = subscribable.subscriptions.exclude(status="unsubscribed").count()
    readers = pluralize(count, "subscriber")
    if count and not force:
        raise DropRefused(
            f"{subscribable} has {readers}. Force it to delete it with them.",
            by_api=f"{subscribable} has {readers}. With ?force=true it is deleted with them.",
        )
    items = list(Item.objects.filter(assignables__subscribable=subscribable).values_list("pk", flat=True))
    subscribable.assignables.all().delete()
    clear_unneeded(item_ids=items)
    title = str(subscribable)
    subscribable.delete()
    return f"{title} was deleted, with {readers}." if count else f"{title} was deleted."


def clear_unneeded(*, item_ids: list[int]) -> int:
    """Clears the items that no open collection needs any more, in pk order, in the caller's transaction."""
    locked = (
        Item.objects.filter(pk__in=item_ids, state=Item.State.ASSIGNED).order_by("pk").select_for_update()
    )
    pks = [item.pk for item in locked.only("pk")]
    # A new statement sees what another completion committed while we waited for the locks.
    needed = Exists(Assignment.objects.filter(item=OuterRef("pk")))
    done = Item.objects.filter(~needed, pk__in=pks, state=Item.State.ASSIGNED)
    return done.update(state=Item.State.CLEARED, entry=None, content_hash="", set_aside_at=None)


def delete_dropped_feeds() -> int:
    """Drops the feeds whose dropping waited for their last posts to go out. Returns how many."""
    dropping = Feed.objects.filter(dropping=True).values_list("pk", flat=True)
    deleted = 0
    for pk in list(dropping):
        with transaction.atomic():
            # Under the same locks as an assignment: it would come between our look and our deleting.
            lock_for_membership(Subscribable.objects.filter(feeds=pk))
            feed = Feed.objects.select_for_update().filter(pk=pk, dropping=True).first()
            if feed is not None and not on_the_way(feed):
                _drop_now(feed)
                deleted += 1
    return deleted
