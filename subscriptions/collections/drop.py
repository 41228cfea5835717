"""Deletes feeds and newsletters, unless something depends on them.

A feed with readers here loses only its letters.
"""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from common.refused import Refused
from common.text import pluralize
from feeds.items.held import note_decided
from feeds.models import Feed, Item
from feeds.models.feed import FeedQuerySet
from feeds.polling.store import DROPPED
from feeds.rules.only_read import LETTERS_ENDED
from subscriptions.collections.assign import lock_for_membership
from subscriptions.models import Assignable, Assignment, SeenLink, Subscribable

EXCLUDED_BY_HAND = "by hand"


def exclude_items(*, item_ids: Iterable[int], now: datetime, reason: str = EXCLUDED_BY_HAND) -> int:
    return sum(exclude(item_id=pk, reason=reason) for pk in item_ids)


def exclude(*, item_id: int, reason: str) -> bool:
    """Return False if it is too late."""
    with transaction.atomic():
        # Newsletters that hold the item or may be about to take it.
        takers = Subscribable.objects.filter(feeds__items=item_id).values("pk")
        holders = Assignable.objects.filter(items=item_id).values("subscribable")
        lock_for_membership(Subscribable.objects.filter(Q(pk__in=takers) | Q(pk__in=holders)))
        there = Item.objects.filter(pk=item_id, state__in=("unassigned", "assigned"))
        item = there.select_for_update().first()
        held = Assignment.objects.filter(item=item_id)
        if item is None or held.filter(assignable__seal_token__isnull=False).exists():
            return False
        collections = list(held.values_list("assignable_id", flat=True))
        # These newsletters may get a copy from another feed. Others sent it, and keep the record.
        SeenLink.objects.filter(item=item, subscribable__assignables__in=collections).delete()
        held.delete()
        # An empty collection would become an empty issue.
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
        # A separate transaction: a feed is locked before its items, never after.
        note_decided(feed_id=item.feed_id)
    return True


STILL_READ = "People read it here, so it isn’t deleted."


class DropRefused(Refused):
    """The message says what depends on it, and how to force it."""


@transaction.atomic
def drop_feed(*, feed: Feed, force: bool, now: datetime) -> str:
    """Delete a feed, or only end its letters if it has readers.

    With pending posts it raises DropRefused, or if forced waits until they are sent.
    """
    lock_for_membership(Subscribable.objects.filter(feeds=feed))
    feed = Feed.objects.select_for_update().get(pk=feed.pk)
    waiting = on_the_way(feed)
    if waiting and not force:
        are = "is" if waiting == 1 else "are"
        sentence = f"{pluralize(waiting, 'post')} of {feed} {are} still to be sent."
        raise DropRefused(
            f"{sentence} Force it to let them go out first.",
            by_api=f"{sentence} With ?force=true they go out first.",
        )
    if waiting and feed.read_by:
        Feed.objects.filter(pk=feed.pk).update(for_letters=False, dropping=True)
        return f"{feed} is no longer sent once its last {pluralize(waiting, 'post')} went out. {STILL_READ}"
    if waiting:
        Feed.objects.filter(pk=feed.pk).update(status=Feed.Status.STOPPED, dropping=True)
        return f"{feed} is no longer read; it is deleted once its last {pluralize(waiting, 'post')} went out."
    return _drop_now(feed)


def _drop_now(feed: Feed) -> str:
    """Call it with the newsletters and the feed locked."""
    if not feed.read_by:
        feed.delete()
        return f"{feed} was deleted."
    feed.subscribables.clear()
    Item.objects.filter(feed=feed, state=Item.State.UNASSIGNED).update(**DROPPED, reason=LETTERS_ENDED)
    Feed.objects.filter(pk=feed.pk).update(for_letters=False, dropping=False, held_since=None)
    return f"{feed} is no longer sent. {STILL_READ}"


def on_the_way(feed: Feed) -> int:
    """Count assigned and final posts."""
    return (
        feed.items.filter(state=Item.State.ASSIGNED).count() + Item.objects.final().filter(feed=feed).count()
    )


@transaction.atomic
def drop_subscribable(*, subscribable: Subscribable, force: bool, now: datetime) -> str:
    """Delete a newsletter, with `force` also one with subscribers."""
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
    """Clear items without open collections, locked by pk, in the caller's transaction."""
    locked = (
        Item.objects.filter(pk__in=item_ids, state=Item.State.ASSIGNED).order_by("pk").select_for_update()
    )
    pks = [item.pk for item in locked.only("pk")]
    # A new statement sees other commits made while we waited for the locks.
    needed = Exists(Assignment.objects.filter(item=OuterRef("pk")))
    done = Item.objects.filter(~needed, pk__in=pks, state=Item.State.ASSIGNED)
    return done.update(state=Item.State.CLEARED, entry=None, content_hash="", set_aside_at=None)


def dropping_feeds() -> FeedQuerySet:
    return Feed.objects.filter(dropping=True)


def delete_dropped_feeds() -> int:
    """Delete feeds that waited for their last posts."""
    deleted = 0
    for pk in list(dropping_feeds().values_list("pk", flat=True)):
        with transaction.atomic():
            # Prevents an assignment between check and deletion.
            lock_for_membership(Subscribable.objects.filter(feeds=pk))
            feed = Feed.objects.select_for_update().filter(pk=pk, dropping=True).first()
            if feed is not None and not on_the_way(feed):
                _drop_now(feed)
                deleted += 1
    return deleted
