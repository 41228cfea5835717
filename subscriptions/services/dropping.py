"""Dropping feeds and newsletters: refused while something depends on them, unless forced."""

from datetime import datetime

from django.db import transaction

from feeds.models import Feed, Item
from subscriptions.models import Subscribable
from subscriptions.services.assigning import lock_for_membership


class Refused(ValueError):
    """Something depends on it. The message says how much, and how to do it all the same."""


@transaction.atomic
def drop_feed(*, feed: Feed, force: bool, now: datetime) -> str:
    """Deletes a feed and its items. With posts on their way: refused, or (forced) once they went out."""
    lock_for_membership(Subscribable.objects.filter(feeds=feed))
    feed = Feed.objects.select_for_update().get(pk=feed.pk)
    on_the_way = feed.items.filter(state=Item.State.ASSIGNED).count()
    if on_the_way and not force:
        raise Refused(
            f"{on_the_way} posts of {feed} are still to be sent. Force it to let them go out first."
        )
    if on_the_way:
        Feed.objects.filter(pk=feed.pk).update(status=Feed.Status.STOPPED, dropping=True)
        return f"{feed} is no longer read; it is deleted once its last {on_the_way} posts went out."
    feed.delete()
    return f"{feed} was deleted."


@transaction.atomic
def drop_subscribable(*, subscribable: Subscribable, force: bool, now: datetime) -> str:
    """Deletes a newsletter, its issues and what is queued. With subscribers only when forced."""
    lock_for_membership(Subscribable.objects.filter(pk=subscribable.pk))
    count = subscribable.subscriptions.exclude(status="unsubscribed").count()
    if count and not force:
        raise Refused(f"{subscribable} has {count} subscribers. Force it to delete it with them.")
    items = list(Item.objects.filter(assignables__subscribable=subscribable).values_list("pk", flat=True))
    subscribable.assignables.all().delete()
    clear_unneeded(item_ids=items)
    title = str(subscribable)
    subscribable.delete()
    return f"{title} was deleted, with {count} subscribers."


def clear_unneeded(*, item_ids: list[int]) -> int:
    """Clears those items that no open collection needs any more, in pk order, in the caller's transaction."""
    locked = (
        Item.objects.filter(pk__in=item_ids, state=Item.State.ASSIGNED).order_by("pk").select_for_update()
    )
    pks = [item.pk for item in locked.only("pk")]
    # A new statement sees what another completion committed while we waited for the locks.
    done = Item.objects.filter(pk__in=pks, state=Item.State.ASSIGNED, assignments=None)
    return done.update(state=Item.State.CLEARED, entry=None, content_hash="")


def delete_dropped_feeds() -> int:
    """Deletes feeds whose dropping waited for their last posts to go out."""
    done = Feed.objects.filter(dropping=True).exclude(items__state=Item.State.ASSIGNED)
    return done.delete()[0]
