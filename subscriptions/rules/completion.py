"""When collections end, and moments in English, whatever the locale."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from common.clock import zone_words
from common.text import joined, pluralize

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
USUAL_GRACE = timedelta(minutes=60)
DEBTS_SHOWN = 3
# An issue is sent within a minute; later its delay is explained.
SOON, LATE = timedelta(minutes=2), "Late"
NOTHING = "Empty: nothing will be sent."


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """Open collection, as stored when it was opened: the newsletter may have changed since.

    `takes_more`: every_n can fill up. `is_sent_now`: an editor ended it.
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
        return None if self.max_wait_days is None else self.opened_at + timedelta(days=self.max_wait_days)


@dataclass(frozen=True, slots=True)
class FeedFacts:
    """`unassigned_before_end`: an unassigned item became final before the period's end."""

    fetched_through: datetime | None
    waited_for: bool
    unassigned_before_end: bool
    title: str = "a feed"


def is_complete(collection: CollectionFacts, feeds: Iterable[FeedFacts], now: datetime) -> bool:
    """An empty one is never issued. One with all posts left out just ends."""
    return bool(collection.count or collection.left_out) and _is_over(collection, feeds, now)


def is_closed(
    end: datetime, feeds: Iterable[FeedFacts], now: datetime, *, grace: timedelta = USUAL_GRACE
) -> bool:
    return now >= end and (now >= end + grace or not _unsettled(end, feeds))


def why_open(collection: CollectionFacts, feeds: Iterable[FeedFacts], now: datetime, zone: ZoneInfo) -> str:
    feeds = list(feeds)
    if _is_over(collection, feeds, now):
        if collection.count:
            return "Complete: it is sent within a minute."
        return "All posts are left out: nothing will be sent." if collection.left_out else NOTHING
    if collection.period_end is None:
        missing = max((collection.capacity or 1) - collection.count, 1)
        sentence = f"Waits for {missing} more {'post' if missing == 1 else 'posts'}"
        if collection.wait_end is None or collection.count == 0:
            return f"{sentence}."
        return f"{sentence}, until {moment_words(collection.wait_end, zone)}."
    if now < collection.period_end:
        return f"Sent on {moment_words(collection.period_end, zone)}."
    debts = _unsettled(collection.period_end, feeds)
    if len(debts) > DEBTS_SHOWN:
        debts = [*debts[:DEBTS_SHOWN], f"{len(debts) - DEBTS_SHOWN} more"]
    latest = moment_words(collection.period_end + collection.grace, zone)
    return f"Due, but it waits for {joined(debts)}, until {latest}."


def next_issue_time(collection: CollectionFacts, now: datetime) -> datetime | str:
    """Return when the next issue is sent, or in words what it waits for."""
    end = collection.period_end or (collection.wait_end if collection.count else None)
    if end is not None and end > now and not _is_over(collection, (), now):
        return end
    if collection.period_end is not None and collection.period_end < now - SOON:
        return LATE
    if collection.period_end is None and collection.takes_more and not _is_over(collection, (), now):
        missing = max((collection.capacity or 1) - collection.count, 1)
        return f"After {pluralize(missing, 'more post')}"
    return "Within a minute"


def _is_over(collection: CollectionFacts, feeds: Iterable[FeedFacts], now: datetime) -> bool:
    if collection.is_sent_now and collection.count:
        return True
    if collection.period_end is not None:
        return is_closed(collection.period_end, feeds, now, grace=collection.grace)
    if collection.capacity is None or not collection.takes_more:
        return True
    # Not ==: an edit may lower n.
    if collection.count >= collection.capacity:
        return True
    return collection.count > 0 and collection.wait_end is not None and now >= collection.wait_end


def _unsettled(end: datetime, feeds: Iterable[FeedFacts]) -> list[str]:
    debts = []
    for feed in feeds:
        if not feed.waited_for:
            continue
        if feed.fetched_through is None or feed.fetched_through < end:
            debts.append(f"{feed.title} to be read")
        elif feed.unassigned_before_end:
            debts.append(f"posts of {feed.title} to be added")
    return debts


def moment_words(moment: datetime, zone: ZoneInfo) -> str:
    """Return "Monday, 23 November 2026 at 7:00, New York time"."""
    local = moment.astimezone(zone)
    day = f"{WEEKDAYS[local.weekday()]}, {local.day} {MONTHS[local.month - 1]} {local.year}"
    return f"{day} at {clock_words(local.time())}, {zone_words(zone)}"


def clock_words(at: time) -> str:
    return f"{at.hour}:{at.minute:02}"
