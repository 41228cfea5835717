"""Two newsletters over one feed, a reader who switches between them, and a manual clock."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta
from typing import Any

from channels.base import Sent
from delivery.issues.complete import complete_due
from delivery.issues.frequency_switches import apply_frequency_changes
from delivery.models import Delivery, Issue, IssueItem, Lane
from feeds.models import Feed, Item
from subscriptions.collections.assign import assign_final
from subscriptions.models import Assignable, FrequencyChange, Subscribable, Subscription
from subscriptions.subscribers.frequency import switch
from tests.delivery.ledger import claimed, ended
from tests.factories import FeedFactory, FinalItemFactory, SubscribableFactory, SubscriptionFactory

# A Thursday, at noon.
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
GRACE = timedelta(minutes=60)
PACES: dict[str, dict[str, Any]] = {
    "each": {"arrangement": "each"},
    "daily": {"arrangement": "daily"},
    "weekly": {"arrangement": "weekly"},
    "monthly": {"arrangement": "monthly"},
    "three": {"arrangement": "every_n", "n": 3},
    "daily at seven": {"arrangement": "daily", "at": time(7)},
    "weekly at six": {"arrangement": "weekly", "at": time(18), "weekday": 2},
    "twice a week": {"arrangement": "cron", "cron": "0 9 * * 1,4"},
}


class World:
    """World whose clock `until` moves; `post` and `switch` act at that moment."""

    def __init__(self, old: str, new: str, **facts: Any) -> None:
        self.feed = FeedFactory(fetched_through=START)
        self.old, self.new = self._newsletter(old, "old", facts), self._newsletter(new, "new", facts)
        self.reader: Subscription = SubscriptionFactory(
            subscribable=self.old, confirmed_at=START - DAY, added_at=START - DAY
        )
        self.now = START
        self.is_sending = self.is_reading = True

    def _newsletter(self, pace: str, name: str, facts: dict[str, Any]) -> Subscribable:
        made: Subscribable = SubscribableFactory(name=name, feeds=[self.feed], **PACES[pace], **facts)
        return made

    def until(self, moment: datetime) -> None:
        """Advance to the moment, running all stages at each time at which something is due."""
        while self.now < moment:
            self.now = min((moment, *(due for due in self._dues() if due > self.now)))
            self.work()

    def _dues(self) -> Iterable[datetime]:
        ends = list(Assignable.objects.exclude(period_end=None).values_list("period_end", flat=True))
        switches = list(FrequencyChange.objects.filter(settled_at=None).values_list("at", flat=True))
        drafts = Issue.objects.filter(published_at=None).values_list("release_at", flat=True)
        dues = [due for due in (*ends, *switches, *drafts) if due is not None]
        return [*dues, *(due + GRACE for due in dues)]

    def work(self) -> None:
        """Run all stages, then once more for work that one leaves to the next."""
        for now in (self.now, self.now + 30 * SECOND):
            if self.is_reading:
                self.read(now)
            assign_final(clock=lambda now=now: now)  # type: ignore[misc]
            complete_due(clock=lambda now=now: now)  # type: ignore[misc]
            self.send(now)
            apply_frequency_changes(now=now)

    def read(self, now: datetime) -> None:
        Feed.objects.update(fetched_through=now)

    def send(self, now: datetime) -> None:
        if self.is_sending and Lane.objects.exists():
            while jobs := claimed(now=now):
                ended(Sent(), *jobs, at=now)

    def post(self, *, settled: datetime | None = None) -> Item:
        """Add a post to the feed now; `settled` may be earlier."""
        final_at = settled or self.now
        item: Item = FinalItemFactory(feed=self.feed, final_at=final_at, first_seen=final_at)
        self.read(self.now)
        return item

    def switch(self, **facts: Any) -> None:
        switch(subscription=self.reader, to=self.new, now=self.now, **facts)

    def reload(self) -> Subscription:
        self.reader.refresh_from_db()
        return self.reader

    @property
    def joined(self) -> Subscription:
        return Subscription.objects.get(subscribable=self.new)

    def received(self) -> Counter[int]:
        """Return how often the reader got each post, by item."""
        sent = Delivery.objects.filter(destination=self.reader.destination, state="sent")
        rows = IssueItem.objects.filter(issue__deliveries__in=sent)
        return Counter(rows.values_list("item_id", flat=True))
