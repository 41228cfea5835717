"""Replay of five weeks by passing past times to the services."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from common.refused import Refused
from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from delivery.issues.send_series import send_series
from demo.content.post import ZONE
from demo.server import LIGHTHOUSE_FEED
from feeds.models import Feed
from feeds.polling.poll import poll_due
from subscriptions.collections.assign import assign_final

HOUR, DAY, WEEK = timedelta(hours=1), timedelta(days=1), timedelta(weeks=1)
WEEKS = 5
# Hours in UTC: every five, and around 7:00 and 18:00 in Paris, when newsletters are sent.
LOOKED_AT = frozenset({0, 5, 6, 11, 16, 17, 21})
# On Fridays at 16:00, in Paris.
LINKS_SENT = "5 16"
# Every post is polled until it settles.
AFTER_POST = [timedelta(minutes=minutes) for minutes in range(1, 52, 10)]
MOST_ROUNDS = 3


class ReplayFailed(Refused):
    pass


class VirtualClock:
    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


@dataclass(slots=True)
class Tally:
    """Results of steps; `there_before` counts the posts that were in the feed when it was added."""

    posts: int = 0
    there_before: int = 0
    corrected: int = 0
    withdrawn: int = 0
    issues: int = 0
    letters: int = 0

    @property
    def fresh(self) -> int:
        return self.posts - self.there_before

    def add(self, other: "Tally") -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def beginning(end: datetime) -> datetime:
    """Return when the feed was added: 36 days ago, on the hour."""
    return end.replace(minute=0, second=0, microsecond=0) - WEEKS * WEEK - DAY


def steps(end: datetime, posts: Iterable[datetime]) -> list[datetime]:
    start = beginning(end)
    every = [start + number * HOUR for number in range((end - start) // HOUR + 1)]
    fridays = {hour for hour in every if f"{hour.astimezone(ZONE):%w %H}" == LINKS_SENT}
    hours = {start, *fridays, *(hour for hour in every if hour.hour in LOOKED_AT)}
    near = {moment + after for moment in posts for after in AFTER_POST}
    return sorted({*hours, *(moment for moment in near if start < moment < end), end})


def weeks(moments: Iterable[datetime], end: datetime) -> Iterator[list[datetime]]:
    moments = list(moments)
    first = end - WEEKS * WEEK
    for number in range(WEEKS):
        low, high = first + number * WEEK, first + (number + 1) * WEEK
        yield [
            moment
            for moment in moments
            if (number == 0 or low <= moment) and (number == WEEKS - 1 or moment < high)
        ]


def replay(
    moments: Iterable[datetime],
    clock: VirtualClock,
    *,
    advance: Callable[[], None],
    before: Callable[[datetime], None] = lambda _: None,
) -> Tally:
    """Run the stages at each time, after `before`. Raises ReplayFailed."""
    tally = Tally()
    for moment in moments:
        clock.now = moment
        before(moment)
        step(clock, tally)
        advance()
    return tally


def step(clock: VirtualClock, tally: Tally) -> None:
    """Run the stages, twice if completing requests a poll."""
    for number in range(MOST_ROUNDS):
        if not polled(clock, tally) and number:
            return
        assign_final(clock=clock)
        tally.issues += complete_due(clock=clock)
        send_series(clock=clock)
        tally.letters += send_due(clock=clock).stored


def polled(clock: VirtualClock, tally: Tally) -> bool:
    results = poll_due(clock=clock)
    own = set(Feed.objects.filter(url__startswith=f"{settings.SITE_URL}/").values_list("pk", flat=True))
    for result in results:
        feed = Feed.objects.filter(pk=result.feed_id)
        if not result.ok and not feed.filter(url__endswith=LIGHTHOUSE_FEED).exists():
            raise ReplayFailed(f"The sample blog could not be read: {result.error}")
        if result.feed_id in own:
            # Its posts are the blog's.
            continue
        tally.posts += result.new + result.excluded
        tally.there_before += result.excluded
        tally.corrected += result.changed
        tally.withdrawn += result.vanished
    return bool(results)
