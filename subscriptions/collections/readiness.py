from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Min, Prefetch, Q, prefetch_related_objects

from feeds.models import Feed, Item
from feeds.models.feed import FeedQuerySet
from feeds.polling.poll import request_poll
from subscriptions.models import Assignable, Subscribable
from subscriptions.models.assignable import is_kept
from subscriptions.rules.completion import CollectionFacts, FeedFacts, is_complete

# For `is_complete`.
JUDGED_BY = (
    "capacity",
    "opened_at",
    "period_end",
    "sent_now_at",
    *(f"subscribable__{name}" for name in ("arrangement", "grace_minutes", "max_wait_days", "stopped")),
)


def complete_among(assignables: Sequence[Any], now: datetime) -> list[Any]:
    """Return the complete collections of these, which are `counted`."""
    periods = [row for row in assignables if row.period_end is not None]
    feeds = Feed.objects.only("fetched_through", "status", "title", "url")
    prefetch_related_objects(periods, Prefetch("subscribable__feeds", queryset=feeds))
    unassigned = first_unassigned({feed.pk for row in periods for feed in row.subscribable.feeds.all()})
    return [
        row
        for row in assignables
        if is_complete(
            collection_facts(row, counts=(row.held, row.left_out)),
            facts_of_feeds(row.subscribable, row.period_end, unassigned) if row.period_end else [],
            now,
        )
    ]


def collection_facts(assignable: Assignable, *, counts: tuple[int, int] | None = None) -> CollectionFacts:
    """`counts`: posts to send and left out, if known."""
    subscribable = assignable.subscribable
    kept, left_out = counts or counts_of(assignable)
    return CollectionFacts(
        count=kept,
        left_out=left_out,
        is_sent_now=assignable.sent_now_at is not None,
        capacity=assignable.capacity,
        opened_at=assignable.opened_at,
        period_end=assignable.period_end,
        max_wait_days=subscribable.max_wait_days,
        takes_more=subscribable.arrangement == subscribable.Arrangement.EVERY_N and not subscribable.stopped,
        grace=timedelta(minutes=subscribable.grace_minutes),
    )


def counts_of(assignable: Assignable) -> tuple[int, int]:
    rows = assignable.assignments.aggregate(all=Count("pk"), kept=Count("pk", filter=is_kept()))
    return rows["kept"], rows["all"] - rows["kept"]


def feed_facts(assignable: Assignable) -> list[FeedFacts]:
    if assignable.period_end is None:
        return []
    return facts_of_feeds(assignable.subscribable, assignable.period_end)


def first_unassigned(feed_ids: Collection[int]) -> dict[int, datetime]:
    """Return since when feeds have final posts that are not assigned."""
    if not feed_ids:
        return {}
    rows = Item.objects.final().filter(feed__in=feed_ids).order_by().values_list("feed")
    return dict(rows.annotate(Min("final_at")))


def facts_of_feeds(
    subscribable: Subscribable, end: datetime, unassigned: Mapping[int, datetime] | None = None
) -> list[FeedFacts]:
    """`unassigned`: `first_unassigned` of its feeds, if known."""
    feeds = subscribable.feeds.all()
    if unassigned is None:
        unassigned = first_unassigned([feed.pk for feed in feeds])
    return [
        FeedFacts(
            fetched_through=feed.fetched_through,
            waited_for=feed.status == Feed.Status.ACTIVE,
            unassigned_before_end=unassigned.get(feed.pk, end) < end,
            title=str(feed),
        )
        for feed in feeds
    ]


def make_feeds_due(*, now: datetime) -> int:
    return request_poll(feed_ids=set(behind(now).values_list("pk", flat=True)), now=now)


def behind(now: datetime) -> FeedQuerySet:
    """Not read since the end of a period."""
    unread = Q(fetched_through=None) | Q(fetched_through__lt=F("subscribables__assignables__period_end"))
    return Feed.objects.watched().filter(unread, subscribables__assignables__period_end__lte=now)
