from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import groupby, pairwise

from django.db import transaction
from django.db.models import Count
from django.db.models.functions import Coalesce, TruncWeek
from django.utils import timezone

from common.passes import TimeBudget
from feeds.models import Feed, Item, ItemVersion, Poll
from feeds.parsing.entry import Entry
from feeds.polling.known_items import DIGEST_BYTES, shorts
from feeds.rules.changes import Change, changes, excerpt, text_of
from feeds.rules.corrections import LEAST_OLDER
from feeds.rules.item_status import ItemStatus, explain

WEEKS = 26
POLLS_PLOTTED = 100
KEPT_PER_FEED = 500
POLLS_KEPT_FOR = timedelta(days=30)
POLLS_DELETED_TOGETHER = 1_000
VERSIONS_KEPT_FOR = timedelta(days=90)
OLDER_LOOKED_AT = 500


def status_of(item: Item) -> ItemStatus:
    return ItemStatus(
        state=item.state,
        reason=item.reason,
        first_seen=item.first_seen,
        stable_since=item.stable_since,
        final=item.final_at is not None,
        vanished=item.vanished_at is not None,
        rolled_off=item.rolled_off_at is not None,
        watched=item.feed.status == Feed.Status.ACTIVE,
        held=item.held_at is not None,
        changes=item.changes,
        set_aside=item.set_aside_at is not None,
    )


def standing(item: Item, now: datetime) -> str:
    """Explain whether the post is sent."""
    return explain(status_of(item), item.feed, now)


@dataclass(frozen=True, slots=True)
class PollStretch:
    """Consecutive readings with the same result, newest first."""

    polls: tuple[Poll, ...] = field(repr=False)

    @property
    def newest(self) -> Poll:
        return self.polls[0]

    @property
    def oldest(self) -> Poll:
        return self.polls[-1]

    @property
    def bytes(self) -> int:
        return sum(poll.bytes for poll in self.polls)

    @property
    def milliseconds(self) -> int:
        """On average."""
        return round(sum(poll.duration_ms for poll in self.polls) / len(self.polls))


def readings(feed: Feed, *, limit: int = KEPT_PER_FEED) -> list[Poll]:
    """Use one query, newest first."""
    return list(feed.polls.all()[: min(limit, KEPT_PER_FEED)])


def folded(polls: Sequence[Poll]) -> list[PollStretch]:
    def kind_of_line(numbered: tuple[int, Poll]) -> tuple[object, ...]:
        number, poll = numbered
        if poll.outcome == Poll.Outcome.FAILED:
            return ("failed", poll.status, poll.note)
        return ("quiet", poll.origin) if brought_nothing(poll) else ("loud", number)

    groups = groupby(enumerate(polls), kind_of_line)
    return [PollStretch(tuple(poll for _, poll in group)) for _, group in groups]


def brought_nothing(poll: Poll) -> bool:
    counts = (poll.new, poll.changed, poll.vanished, poll.held, poll.excluded, poll.final)
    return poll.outcome != Poll.Outcome.FAILED and not any(counts) and not poll.note


def posts_per_week(feed: Feed, *, now: datetime) -> list[tuple[date, int]]:
    """Return Mondays of the last 26 weeks and counts of posts. One query."""
    today = timezone.localtime(now).date()
    monday = today - timedelta(days=today.weekday())
    weeks = [monday - timedelta(weeks=back) for back in reversed(range(WEEKS))]
    # The first Monday depends on the zone.
    posts = Item.objects.filter(feed=feed).annotate(day=Coalesce("published_at", "first_seen"))
    posts = posts.filter(day__gt=now - timedelta(weeks=WEEKS + 1), day__lte=now)
    rows = posts.annotate(week=TruncWeek("day")).order_by().values_list("week").annotate(Count("pk"))
    counts = {timezone.localtime(week).date(): count for week, count in rows}
    return [(week, counts.get(week, 0)) for week in weeks]


def prune_polls(
    *, now: datetime, batch: int = POLLS_DELETED_TOGETHER, budget: timedelta | None = None
) -> int:
    """Delete readings that are a month old or beyond a feed's newest 500. Returns how many.

    Small transactions, as SQLite records no feed meanwhile.
    """
    left = TimeBudget(budget)
    total = 0
    for keys in _prunable(now, batch):
        with transaction.atomic():
            total += Poll.objects.filter(pk__in=keys).delete()[0]
        if left.is_spent:
            break
    return total


def prune_versions(
    *, now: datetime, batch: int = POLLS_DELETED_TOGETHER, budget: timedelta | None = None
) -> int:
    """Delete versions of posts that are 90 days old. Returns how many."""
    left, total = TimeBudget(budget), 0
    old = ItemVersion.objects.filter(seen_at__lt=now - VERSIONS_KEPT_FOR).order_by("seen_at")
    while not left.is_spent and (keys := list(old.values_list("pk", flat=True)[:batch])):
        total += ItemVersion.objects.filter(pk__in=keys).delete()[0]
    return total


def _prunable(now: datetime, batch: int) -> Iterator[list[int]]:
    old = Poll.objects.filter(at__lt=now - POLLS_KEPT_FOR).order_by("at").values_list("pk", flat=True)
    while keys := list(old[:batch]):
        yield keys
    # Batches combine feeds.
    crowded = Poll.objects.order_by().values("feed").annotate(n=Count("pk")).filter(n__gt=KEPT_PER_FEED)
    keys = []
    for feed in list(crowded.values_list("feed", flat=True)):
        rows = Poll.objects.filter(feed=feed).order_by("-at", "-pk").values_list("pk", flat=True)
        keys += rows[KEPT_PER_FEED:]
        while len(keys) >= batch:
            yield keys[:batch]
            keys = keys[batch:]
    if keys:
        yield keys


@dataclass(frozen=True, slots=True)
class Rewording:
    """Change of a post's words, first seen `at`."""

    at: datetime
    parts: list[Change]


def rewordings(item_id: int, *, limit: int) -> list[Rewording]:
    """Return what changed in a post, newest first."""
    rows = ItemVersion.objects.filter(item=item_id).order_by("-pk")[: limit + 1]
    texts = [(row.seen_at, text_of(Entry.from_json(row.entry))) for row in rows]
    return [Rewording(at, excerpt(changes(old, new))) for (at, new), (_, old) in pairwise(texts)]


def is_gone(item: Item) -> bool:
    """Return whether the feed lacks a post, though it still has older ones."""
    order = set(shorts(item.feed)[0])
    if item.vanished_at or item.set_aside_at or item.published_at is None:
        return bool(item.vanished_at or item.set_aside_at)
    if item.guid_hash[: DIGEST_BYTES * 2] in order:
        return False
    older = Item.objects.filter(feed=item.feed_id, published_at__lte=item.published_at).exclude(pk=item.pk)
    ids = older.order_by("-published_at").values_list("guid_hash", flat=True)[:OLDER_LOOKED_AT]
    return sum(id_[: DIGEST_BYTES * 2] in order for id_ in ids) >= LEAST_OLDER
