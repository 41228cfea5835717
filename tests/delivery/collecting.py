"""Newsletters with collected posts, made by the real services."""

from datetime import datetime, timedelta
from typing import Any

from feeds.models import Feed, Item
from subscriptions.collections.assign import assign_final
from subscriptions.models import Assignable, Subscribable
from tests.factories import NOW, FeedFactory, FinalItemFactory, SubscribableFactory, SubscriptionFactory

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
# The daily period of NOW ends at this midnight.
MIDNIGHT = datetime(2026, 3, 3, tzinfo=NOW.tzinfo)


def a_newsletter(arrangement: str = "daily", *, readers: int = 2, **changes: Any) -> Subscribable:
    """Return a newsletter of one feed, which was read after midnight."""
    changes.setdefault("feeds", [FeedFactory(fetched_through=MIDNIGHT + HOUR)])
    subscribable: Subscribable = SubscribableFactory(arrangement=arrangement, **changes)
    SubscriptionFactory.create_batch(readers, subscribable=subscribable)
    return subscribable


def collect(subscribable: Subscribable, posts: int = 1, *, now: datetime = NOW) -> list[Item]:
    """Create final posts of its first feed, and assign them at `now`."""
    feed: Feed = subscribable.feeds.all()[0]
    items: list[Item] = [FinalItemFactory(feed=feed, final_at=now) for _ in range(posts)]
    assign_final(clock=lambda: now)
    return items


def open_collection(subscribable: Subscribable) -> Assignable:
    return Assignable.objects.get(subscribable=subscribable)


def item_states(items: list[Item]) -> set[str]:
    return set(Item.objects.filter(pk__in=[item.pk for item in items]).values_list("state", flat=True))
