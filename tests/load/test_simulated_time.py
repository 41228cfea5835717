"""New Year and clock changes, through the database, hour by hour, in four zones at once."""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from delivery.issues.complete import complete_due
from delivery.models import Issue, IssueItem
from feeds.adding.add import add_feed
from feeds.models import Feed, Item
from feeds.polling.poll import poll_due
from subscriptions.collections.assign import assign_final
from subscriptions.models import Assignable, Subscribable
from subscriptions.newsletters.define import define_subscribable
from tests.examples import NIGHTLY
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

SECOND_DATABASE = False

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

ZONES = ("America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Kiritimati")
ARRANGEMENTS: tuple[dict[str, Any], ...] = (
    {"arrangement": "each"},
    {"arrangement": "daily", "at": time(2, 30)},
    {"arrangement": "weekly", "at": time(7), "weekday": 0},
    {"arrangement": "monthly", "at": time(0), "day_of_month": 31},
    {"arrangement": "every_n", "n": 4},
    {"arrangement": "cron", "cron": "30 1 * * 2,5"},
)
# Start and number of days: each has a Monday, the end of a month or year, a clock change, and the day after
# it. Lord Howe's clocks change by half an hour: see test_ten_years.
WINDOWS = {
    "New Year": (datetime(2025, 12, 26, tzinfo=UTC), 8),
    "clocks forward in New York": (datetime(2026, 2, 27, tzinfo=UTC), 11),
    "clocks back in New York": (datetime(2026, 10, 26, tzinfo=UTC), 8),
}
ALSO = "clocks back in New York"
HOUR = timedelta(hours=1)


class Blogs:
    """Three blogs: a post every 5, 11 and 29 hours; each feed holds the newest ten."""

    RHYTHMS = (5, 11, 29)

    def __init__(self, server: FeedServer) -> None:
        self.server = server
        self.posts: dict[int, list[dict[str, Any]]] = defaultdict(list)

    def url(self, blog: int) -> str:
        return self.server.url(f"/{blog}.xml")

    def write(self, hour: int, now: datetime) -> None:
        for blog, rhythm in enumerate(self.RHYTHMS):
            if hour % rhythm == rhythm - 1:
                self.posts[blog].insert(0, self._post(blog, hour, now))
            self.server.serve(f"/{blog}.xml", rss(self.posts[blog][:10], title=f"Blog {blog}"))

    def _post(self, blog: int, hour: int, now: datetime) -> dict[str, Any]:
        name = f"{self.server.url(f'/{blog}/')}{hour}"
        published = now - timedelta(minutes=20)
        return {"guid": name, "link": name, "title": f"Post of hour {hour}", "published": published}


def newsletters(feeds: list[Feed]) -> list[Subscribable]:
    return [
        define_subscribable(
            name=f"{zone.split('/')[1]}-{details['arrangement']}", feeds=feeds, time_zone=zone, **details
        )
        for zone, details in itertools.product(ZONES, ARRANGEMENTS)
    ]


def hours(start: datetime, days: int) -> Iterator[tuple[int, datetime]]:
    return ((hour, start + hour * HOUR) for hour in range(days * 24))


@NIGHTLY
@pytest.mark.parametrize(
    "window",
    # The rules' tests cover the differences of windows (see test_ten_years).
    [*(pytest.param(name, marks=NIGHTLY) for name in WINDOWS if name != ALSO), ALSO],
)
def test_every_post_is_in_exactly_one_issue_of_each_newsletter(window: str, loopback_allowed: None) -> None:
    start, days = WINDOWS[window]
    with FeedServer() as server:
        blogs = Blogs(server)
        blogs.write(0, start)
        feeds = [add_feed(url=blogs.url(blog), now=start - HOUR) for blog in range(3)]
        letters = newsletters(feeds)
        for hour, now in hours(start, days):
            blogs.write(hour, now)
            poll_due(clock=lambda now=now: now)  # type: ignore[misc]
            assign_final(clock=lambda now=now: now)  # type: ignore[misc]
            complete_due(clock=lambda now=now: now)  # type: ignore[misc]
    assert_each_post_once(letters)
    assert_periods(letters)


def assert_each_post_once(letters: list[Subscribable]) -> None:
    assert not Feed.objects.filter(failures__gt=0).exists()
    assert not Assignable.objects.filter(failures__gt=0).exists()
    assert not Issue.objects.filter(issue_items=None).exists(), "no empty issue"
    settled = set(Item.objects.filter(state__in=("assigned", "cleared")).values_list("pk", flat=True))
    assert len(settled) > 50
    for letter in letters:
        issued = list(IssueItem.objects.filter(issue__subscribable=letter).values_list("item_id", flat=True))
        waiting = list(Item.objects.filter(assignables__subscribable=letter).values_list("pk", flat=True))
        assert sorted(issued + waiting) == sorted(settled), f"{letter.name}: each post once"


def assert_periods(letters: list[Subscribable]) -> None:
    for letter in letters:
        zone = ZoneInfo(letter.time_zone)
        issues = list(letter.issues.exclude(period_start=None).order_by("period_start"))
        for earlier, later in itertools.pairwise(issues):
            assert earlier.period_end is not None
            assert later.period_start is not None
            assert earlier.period_end <= later.period_start
        for issue in issues:
            assert_boundaries(letter, issue, zone)


def assert_boundaries(letter: Subscribable, issue: Issue, zone: ZoneInfo) -> None:
    assert issue.period_start is not None
    assert issue.period_end is not None
    finals = Item.objects.filter(issue_items__issue=issue).values_list("final_at", flat=True)
    assert all(final and issue.period_start <= final < issue.period_end for final in finals)
    assert issue.created_at >= issue.period_end, "nothing goes out before its time"
    assert issue.created_at < issue.period_end + timedelta(hours=2)
    for cut in (issue.period_start, issue.period_end):
        local = cut.astimezone(zone)
        if letter.arrangement == "weekly":
            assert (local.weekday(), local.time()) == (0, time(7))
        elif letter.arrangement == "daily":
            assert local.time() in (time(2, 30), time(3)), "02:30, or the first instant after the gap"
        elif letter.arrangement == "monthly":
            assert (local + timedelta(days=1)).day == 1
        else:
            assert local.weekday() in (1, 4)
