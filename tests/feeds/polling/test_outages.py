"""Responses that are believed only if they persist, and hosts that recover.

The message to admins about a response without a feed.
"""

from datetime import timedelta

import pytest
from django.utils.http import http_date

from feeds.models import Feed, Poll
from feeds.polling.poll import poll_due
from feeds.polling.read import why_unread
from feeds.rules.alerts import wants_all
from tests.examples import some_now
from tests.feeds.watched import Blog, at, post
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer, Reply, Request

YESTERDAY = http_date((at(0) - timedelta(days=1)).timestamp())
LYING = [
    {"Last-Modified": "Thu, 01 Jan 1970 00:00:00 GMT"},
    {"Last-Modified": "Tue, 01 Jan 2041 00:00:00 GMT"},
    {"Last-Modified": "Tue, 01 Jan 2041 00:00:00 GMT", "Date": "Wed, 01 Jan 2025 00:00:00 GMT"},
    {"ETag": '""'},
    {"ETag": 'W/"0"'},
    {"ETag": '"d41d8cd98f00b204e9800998ecf8427e"'},
    {"ETag": '"same"'},
    {"ETag": '"of document {}"'},
    {"Last-Modified": YESTERDAY},
    {"Last-Modified": YESTERDAY, "ETag": '"same"'},
]


def test_a_feed_that_says_for_a_day_that_it_is_gone_is_stopped_and_keeps_its_posts(blog: Blog) -> None:
    blog.watch(start="all")
    blog.show("a")
    blog.read(0)
    blog.serve(b"", status=410)
    for minutes in (10, 200, 400, 600, 1000, 1449):
        assert "asked again" in blog.poll(minutes).error
        assert (blog.feed.status, blog.feed.next_poll_why) == ("active", "gone")
    assert "no longer read" in blog.poll(1451).error
    assert blog.feed.status == "stopped"
    assert poll_due(clock=lambda: at(100_000)) == []
    assert blog.states() == {"a": "unassigned"}


@pytest.mark.parametrize("between", [{"status": 404}, {"status": 200}])
def test_another_answer_in_between_begins_the_count_anew(blog: Blog, between: dict[str, int]) -> None:
    blog.watch()
    blog.read(0)
    document = rss([post("a")])
    for minutes in (10, 200, 400, 600, 1000):
        blog.serve(b"", status=410)
        blog.poll(minutes)
    blog.serve(document, **between)
    blog.poll(1100)
    blog.serve(b"", status=410)
    blog.poll(1500)
    assert (blog.feed.status, blog.feed.gone_polls) == ("active", 1)


def test_nobody_there_says_nothing_for_or_against_it(blog: Blog) -> None:
    blog.watch()
    blog.serve(b"", status=410)
    for minutes in (10, 200, 400, 600):
        blog.poll(minutes)
    blog.serve(b"", status=503)
    blog.poll(1100)
    blog.serve(b"", status=410)
    blog.poll(1500)
    assert blog.feed.status == "stopped"


def test_a_retry_after_of_months_is_believed_for_a_day_and_longer_while_it_is_repeated(blog: Blog) -> None:
    blog.serve(b"", status=503, headers={"Retry-After": "7776000"})
    blog.watch()
    days = []
    now = 0.0
    for _ in range(5):
        blog.poll(now)
        days.append((blog.feed.next_poll_at - at(now)) / timedelta(days=1))
        now += days[-1] * 24 * 60
    assert days == [1, 2, 4, 7, 7]
    assert blog.feed.next_poll_why == "retry_after"


def test_a_server_that_compares_validators_is_asked_in_full_every_eight_days(blog: Blog) -> None:
    """It has answered a conditional request with a new document. Later its cache answers 304 for ever."""
    asked: list[bool] = []

    def cache(request: Request) -> Reply:
        conditional = "if-none-match" in request.headers
        asked.append(conditional)
        if conditional and len(asked) > 2:
            return Reply(b"", 304)
        name = "ab"[min(len(asked), 2) - 1]
        return Reply(rss([post(name)]), headers={"ETag": f'"{name}"'})

    blog.server.answer(blog.path, cache)
    blog.watch()
    for day in range(20):
        assert blog.poll(day * 24 * 60).ok
    assert [day for day in range(20) if not asked[day]] == [0, 9, 17]


@pytest.mark.parametrize(("silent_days", "hours"), [(10, 0.5), (365, 18), (9_000, 8 * 24)])
def test_a_silent_feed_is_asked_in_full_more_rarely_until_its_server_is_known(
    silent_days: int, hours: float
) -> None:
    sent_at, silent_since = at(0), at(-silent_days * 24 * 60)
    early, late = at(hours * 60 * 0.9), at(hours * 60)
    assert not wants_all(sent_at, early, silent_since=silent_since, read_at=at(1))
    assert wants_all(sent_at, late, silent_since=silent_since, read_at=at(1))


@pytest.mark.parametrize("quiet", some_now([0, 5]))
@pytest.mark.parametrize("headers", some_now(LYING))
def test_posts_of_a_server_that_always_answers_304_come_within_two_readings(
    blog: Blog, headers: dict[str, str], quiet: int
) -> None:
    shown = ["a"]
    reading = iter(range(100))

    def cache(request: Request) -> Reply:
        sent = {name: text.format(len(shown)) for name, text in headers.items()}
        if {"if-none-match", "if-modified-since"} & set(request.headers):
            return Reply(b"", 304, headers=sent)
        return Reply(rss([post(name) for name in reversed(shown)]), headers=sent)

    blog.server.answer(blog.path, cache)
    blog.watch()
    for number in range(4):
        for _ in range(quiet + 1):
            blog.read(next(reading) * 10)
        shown.append(f"post{number}")
        assert sum(blog.read(next(reading) * 10).new for _ in range(2)) == 1
    is_believed = "same" in headers.get("ETag", "") or headers.get("Last-Modified") == YESTERDAY
    notes = Poll.objects.filter(note__contains="did not change with the feed").count()
    assert notes == is_believed or "{}" in headers.get("ETag", "")


def test_a_validator_that_changes_with_the_feed_is_sent_again_after_one_that_did_not(blog: Blog) -> None:
    asked: list[str] = []
    tags = iter(['"1"', '"1"', '"2"', '"2"'])

    def answer(request: Request) -> Reply:
        asked.append(request.headers.get("if-none-match", ""))
        return Reply(rss([post(f"post{len(asked)}")]), headers={"ETag": next(tags)})

    blog.server.answer(blog.path, answer)
    blog.watch()
    for minutes in (0, 60, 120, 180):
        blog.read(minutes)
    assert asked == ["", '"1"', "", '"2"']


class TestAwayHost:
    """An unreachable host is tried hourly by one of its feeds, and the others follow."""

    @pytest.fixture
    def blogs(self, server: FeedServer, db: None) -> list[Blog]:
        every = [Blog(server, f"/{number}.xml") for number in range(4)]
        for blog in every:
            blog.watch()
            blog.read(0)
        return every

    def away(self, blogs: list[Blog], hours: int, status: int = 503) -> int:
        """Be unreachable for so many hours; return the number of requests in the last day of them."""
        for blog in blogs:
            blog.serve(b"", status=status)
        before = 0
        for hour in range(hours * 4):
            before = len(blogs[0].server.requests) if hour == (hours - 24) * 4 else before
            poll_due(clock=lambda hour=hour: at(15 * hour))  # type: ignore[misc]
        return len(blogs[0].server.requests) - before

    def minutes_until_all_are_read(self, blogs: list[Blog], hours: int) -> int:
        for blog in blogs:
            blog.show("a")
        for minutes in range(0, 36 * 60, 5):
            poll_due(clock=lambda minutes=minutes: at(hours * 60 + minutes))  # type: ignore[misc]
            if not Feed.objects.filter(failures__gt=0).exists():
                return minutes
        return 36 * 60

    @pytest.mark.slow
    def test_all_its_feeds_are_read_within_an_hour_and_a_bit_after_three_days(
        self, blogs: list[Blog]
    ) -> None:
        asked = self.away(blogs, 72)
        assert 20 <= asked <= 35, "hourly by one of them, and once a day by each of the others"
        assert self.minutes_until_all_are_read(blogs, 72) <= 65

    @pytest.mark.slow
    def test_a_feed_with_an_error_of_its_own_backs_off_and_tries_nothing(self, blogs: list[Blog]) -> None:
        assert self.away(blogs, 72, status=404) <= 10
        assert {feed.next_poll_why for feed in Feed.objects.all()} == {"backoff"}

    @pytest.mark.slow
    def test_another_answer_than_a_document_shows_as_well_that_it_is_back(self, blogs: list[Blog]) -> None:
        self.away(blogs, 72)
        blogs[0].serve(b"", status=404)
        for blog in blogs[1:]:
            blog.show("a")
        for minutes in range(0, 70, 5):
            poll_due(clock=lambda minutes=minutes: at(72 * 60 + minutes))  # type: ignore[misc]
        assert Feed.objects.filter(failures=0).count() == 3

    def test_one_that_asks_to_be_left_alone_is_left_alone(self, blogs: list[Blog]) -> None:
        for blog in blogs:
            blog.serve(b"", status=503, headers={"Retry-After": "43200"})
        assert all(result.error for result in poll_due(clock=lambda: at(60)))
        assert {feed.next_poll_why for feed in Feed.objects.all()} == {"retry_after"}

    def test_after_two_weeks_it_is_tried_once_a_day(self, blogs: list[Blog]) -> None:
        Feed.objects.update(failures=30, failing_since=at(0), next_poll_at=at(15 * 24 * 60))
        for blog in blogs:
            blog.serve(b"", status=503)
        poll_due(clock=lambda: at(15 * 24 * 60))
        assert {feed.next_poll_why for feed in Feed.objects.all()} == {"unreachable"}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "does not let us read this feed (HTTP 401)"),
        (403, "does not let us read this feed (HTTP 403)"),
        (404, "nothing at this address (HTTP 404)"),
        (405, "answered with an error (HTTP 405)"),
        (410, "gone for good (HTTP 410)"),
        (429, "we ask too often (HTTP 429)"),
        (500, "answered with an error (HTTP 500)"),
        (503, "answered with an error (HTTP 503)"),
    ],
)
def test_each_status_says_what_it_means_for_the_feed(status: int, words: str) -> None:
    assert words in why_unread(status)
