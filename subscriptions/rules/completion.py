"""Whether an open collection is complete, and what it waits for if it is not."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from subscriptions.rules.words import moment_words

GRACE = timedelta(minutes=60)


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """An open collection, by what was stored when it was opened: the newsletter may have been edited since.

    `period_end` belongs to periods, `capacity` and `max_wait_days` to every n; each has neither.
    `takes_more` is false when the newsletter is stopped or no longer every n: it can never fill up.
    """

    count: int
    opened_at: datetime
    capacity: int | None = None
    max_wait_days: int | None = None
    takes_more: bool = True
    period_end: datetime | None = None
    grace: timedelta = GRACE


@dataclass(frozen=True, slots=True)
class FeedFacts:
    """A feed of the newsletter, seen from the end of a period.

    `waited_for`: neither stopped nor paused. `unassigned_before_end`: it has an Unassigned item whose
    `final_at` is before the end. `title` is for sentences.
    """

    fetched_through: datetime | None
    waited_for: bool
    unassigned_before_end: bool
    title: str = "a feed"


def is_complete(collection: CollectionFacts, feeds: Iterable[FeedFacts], now: datetime) -> bool:
    """Whether it should be issued now. An empty one never is."""
    return collection.count > 0 and _is_over(collection, feeds, now)


def is_closed(end: datetime, feeds: Iterable[FeedFacts], now: datetime, *, grace: timedelta = GRACE) -> bool:
    """Whether nothing more may come into a period with that end."""
    return now >= end and (now >= end + grace or not _unsettled(end, feeds))


def why_open(collection: CollectionFacts, feeds: Iterable[FeedFacts], now: datetime, zone: ZoneInfo) -> str:
    """A sentence for admins: what the collection waits for. Moments are given in `zone`."""
    feeds = list(feeds)
    if _is_over(collection, feeds, now):
        return (
            "Complete: it goes out within a minute." if collection.count else "Empty: nothing will be sent."
        )
    if collection.period_end is None:
        return _why_not_full(collection, zone)
    if now < collection.period_end:
        return f"Closes on {moment_words(collection.period_end, zone)}."
    latest = moment_words(collection.period_end + collection.grace, zone)
    return (
        f"Its time is over. It waits for {_list(_unsettled(collection.period_end, feeds))}, until {latest}."
    )


def _is_over(collection: CollectionFacts, feeds: Iterable[FeedFacts], now: datetime) -> bool:
    if collection.period_end is None:
        return _is_full(collection, now)
    return is_closed(collection.period_end, feeds, now, grace=collection.grace)


def _is_full(collection: CollectionFacts, now: datetime) -> bool:
    if collection.capacity is None or not collection.takes_more:
        return True
    # At least, not exactly: lowering n below what is there must not strand a collection.
    if collection.count >= collection.capacity:
        return True
    wait_end = _wait_end(collection)
    return collection.count > 0 and wait_end is not None and now >= wait_end


def _wait_end(collection: CollectionFacts) -> datetime | None:
    if collection.max_wait_days is None:
        return None
    return collection.opened_at + timedelta(days=collection.max_wait_days)


def _unsettled(end: datetime, feeds: Iterable[FeedFacts]) -> list[str]:
    """What the feeds that are waited for still owe to a period with that end."""
    owed = []
    for feed in feeds:
        if not feed.waited_for:
            continue
        if feed.fetched_through is None or feed.fetched_through < end:
            owed.append(f"{feed.title} to be read")
        elif feed.unassigned_before_end:
            owed.append(f"posts of {feed.title} to be taken in")
    return owed


def _why_not_full(collection: CollectionFacts, zone: ZoneInfo) -> str:
    missing = max((collection.capacity or 1) - collection.count, 1)
    sentence = f"Waits for {missing} more {'post' if missing == 1 else 'posts'}"
    wait_end = _wait_end(collection)
    if wait_end is None or collection.count == 0:
        return f"{sentence}."
    return f"{sentence}, until {moment_words(wait_end, zone)}."


def _list(parts: list[str], shown: int = 3) -> str:
    if len(parts) > shown:
        parts = [*parts[:shown], f"{len(parts) - shown} more"]
    return " and ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)
