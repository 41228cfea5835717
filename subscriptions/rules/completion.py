"""Whether an open collection is complete, and what it waits for if it is not."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from common.text import joined
from subscriptions.rules.words import moment_words

USUAL_GRACE = timedelta(minutes=60)
DEBTS_SHOWN = 3
NOTHING = "Empty: nothing will be sent."


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """An open collection, by what was stored when it was opened: the newsletter may have been edited since.

    `period_end` belongs to periods, `capacity` and `max_wait_days` to every n; each has neither.
    `takes_more` is false when the newsletter is stopped or no longer every n: it can never fill up.
    `count` are the posts to be sent; `left_out` others are not, because an editor left them out or their feed
    withdrew them. An editor may have ended it (`is_sent_now`).
    """

    count: int
    opened_at: datetime
    capacity: int | None = None
    max_wait_days: int | None = None
    takes_more: bool = True
    left_out: int = 0
    is_sent_now: bool = False
    period_end: datetime | None = None
    grace: timedelta = USUAL_GRACE

    @property
    def wait_end(self) -> datetime | None:
        """Every n: when it goes out even though it is not full."""
        return None if self.max_wait_days is None else self.opened_at + timedelta(days=self.max_wait_days)


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
    """Whether it should be issued now. An empty one never is; one of posts left out just ends."""
    return bool(collection.count or collection.left_out) and _is_over(collection, feeds, now)


def is_closed(
    end: datetime, feeds: Iterable[FeedFacts], now: datetime, *, grace: timedelta = USUAL_GRACE
) -> bool:
    """Whether nothing more may come into a period with that end."""
    return now >= end and (now >= end + grace or not _unsettled(end, feeds))


def why_open(collection: CollectionFacts, feeds: Iterable[FeedFacts], now: datetime, zone: ZoneInfo) -> str:
    """A sentence for admins: what the collection waits for. Moments are given in `zone`."""
    feeds = list(feeds)
    if _is_over(collection, feeds, now):
        if collection.count:
            return "Complete: it goes out within a minute."
        return "All of it is left out: nothing will be sent." if collection.left_out else NOTHING
    if collection.period_end is None:
        missing = max((collection.capacity or 1) - collection.count, 1)
        sentence = f"Waits for {missing} more {'post' if missing == 1 else 'posts'}"
        if collection.wait_end is None or collection.count == 0:
            return f"{sentence}."
        return f"{sentence}, until {moment_words(collection.wait_end, zone)}."
    if now < collection.period_end:
        return f"Closes on {moment_words(collection.period_end, zone)}."
    owed = _unsettled(collection.period_end, feeds)
    if len(owed) > DEBTS_SHOWN:
        owed = [*owed[:DEBTS_SHOWN], f"{len(owed) - DEBTS_SHOWN} more"]
    latest = moment_words(collection.period_end + collection.grace, zone)
    return f"Its time is over. It waits for {joined(owed)}, until {latest}."


def _is_over(collection: CollectionFacts, feeds: Iterable[FeedFacts], now: datetime) -> bool:
    if collection.is_sent_now and collection.count:
        return True
    if collection.period_end is not None:
        return is_closed(collection.period_end, feeds, now, grace=collection.grace)
    if collection.capacity is None or not collection.takes_more:
        return True
    # At least, not exactly: lowering n below what is there must not strand a collection.
    if collection.count >= collection.capacity:
        return True
    return collection.count > 0 and collection.wait_end is not None and now >= collection.wait_end


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
