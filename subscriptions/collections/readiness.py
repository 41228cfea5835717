from datetime import datetime, timedelta

from django.db.models import Count, F, Q

from feeds.models import Feed, Item
from feeds.models.feed import FeedQuerySet
from feeds.polling.poll import request_poll
from subscriptions.models import Assignable, Subscribable
from subscriptions.models.assignable import is_kept
from subscriptions.rules.completion import CollectionFacts, FeedFacts


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


def facts_of_feeds(subscribable: Subscribable, end: datetime) -> list[FeedFacts]:
    feeds = subscribable.feeds.all()
    unsettled = set(
        Item.objects.final().filter(feed__in=feeds, final_at__lt=end).values_list("feed_id", flat=True)
    )
    return [
        FeedFacts(
            fetched_through=feed.fetched_through,
            waited_for=feed.status == Feed.Status.ACTIVE,
            unassigned_before_end=feed.pk in unsettled,
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
