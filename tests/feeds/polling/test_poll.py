"""When a feed is due, who reads it, and the effect of a failure."""

from datetime import timedelta
from typing import Any

import pytest

from feeds.models import Feed
from feeds.parsing import document
from feeds.parsing.entry import ParsedFeed, ParseError
from feeds.polling import read as reading
from feeds.polling.poll import poll_due, poll_feed, request_poll
from tests.factories import FeedFactory
from tests.feeds.watched import Blog, at
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer


def due(minutes: float, **options: Any) -> list[int]:
    return [result.feed_id for result in poll_due(clock=lambda: at(minutes), **options)]


def test_a_feed_is_due_at_its_adding_and_then_at_its_interval(blog: Blog) -> None:
    feed = blog.watch(recheck_every_minutes=20)
    assert due(0) == [feed.pk]
    assert due(19.9) == []
    assert due(20) == [feed.pk]


def test_a_feed_that_pings_is_due_once_a_minute_and_at_every_command(blog: Blog) -> None:
    feed = blog.watch(recheck_every_minutes=0)
    assert due(0) == [feed.pk]
    assert due(0.9) == []
    assert due(0.9, by_command=True) == [feed.pk]
    assert due(1.9) == [feed.pk]


def test_each_feed_is_read_once_longest_due_first(server: FeedServer, db: None) -> None:
    url = server.serve("/feed.xml", rss([]))
    feeds = [
        FeedFactory(url=url, next_poll_at=at(-minutes), recheck_every_minutes=0) for minutes in (1, 3, 2)
    ]
    assert due(0, by_command=True) == [feeds[1].pk, feeds[2].pk, feeds[0].pk]
    assert due(0, ignore_due=True) == [feed.pk for feed in feeds]


def test_what_the_budget_does_not_allow_waits_for_the_next_pass(server: FeedServer, db: None) -> None:
    for number in range(20):
        FeedFactory(url=server.serve(f"/{number}.xml", rss([]), drip=0.05, piece=200), next_poll_at=at(0))
    read = due(0, budget=timedelta(seconds=0.2))
    assert 1 <= len(read) < 20
    assert set(read).isdisjoint(due(0))


@pytest.mark.parametrize("status", ["paused", "stopped"])
def test_a_feed_that_is_not_watched_is_not_read(status: str, db: None) -> None:
    feed = FeedFactory(status=status, next_poll_at=at(0))
    assert due(0, ignore_due=True) == []
    assert poll_feed(feed_id=feed.pk, now=at(0)) is None


def test_failures_double_the_wait_up_to_a_day_and_one_success_ends_it(blog: Blog) -> None:
    blog.serve("", status=500)
    blog.watch(recheck_every_minutes=10)
    waits = []
    for number in range(12):
        blog.poll(number * 10_000)
        waits.append((blog.feed.next_poll_at - at(number * 10_000)) / timedelta(minutes=1))
    for wait, expected in zip(waits, [10, 20, 40, 80, 160, 320, 640, 1280, *[1440] * 4], strict=True):
        assert expected * 0.9 <= wait <= expected * 1.1
    assert (blog.feed.failures, blog.feed.failing_since) == (12, at(0))
    blog.show()
    blog.read(120_000)
    assert (blog.feed.failures, blog.feed.next_poll_at) == (0, at(120_010))


def test_a_feed_read_once_a_week_is_not_read_oftener_while_it_fails(blog: Blog) -> None:
    blog.serve("", status=500)
    blog.watch(recheck_every_minutes=7 * 24 * 60)
    blog.poll(0)
    assert blog.feed.next_poll_at > at(6 * 24 * 60)


def test_a_request_makes_feeds_due_once_but_not_those_that_back_off(db: None) -> None:
    healthy = FeedFactory(next_poll_at=at(60))
    failing = FeedFactory(next_poll_at=at(60), failures=3, failing_since=at(0))
    paused = FeedFactory(next_poll_at=at(60), status="paused")
    pks = [healthy.pk, failing.pk, paused.pk]
    assert request_poll(feed_ids=pks, now=at(0)) == 1
    assert request_poll(feed_ids=pks, now=at(0)) == 0
    assert list(Feed.objects.due(at(0))) == [healthy]


def test_an_unforeseen_failure_is_told_on_the_feed_and_stops_no_other(
    server: FeedServer, db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def parse(body: bytes, **facts: Any) -> ParsedFeed:
        if facts["url"].endswith("hostile.xml"):
            raise RecursionError("too deep\x00")
        return document.parse(body, **facts)

    monkeypatch.setattr(reading, "parse", parse)
    hostile = FeedFactory(url=server.serve("/hostile.xml", rss([])), next_poll_at=at(-1))
    fine = FeedFactory(url=server.serve("/fine.xml", rss([])), next_poll_at=at(0))
    results = poll_due(clock=lambda: at(0))
    assert [(result.feed_id, result.ok) for result in results] == [(hostile.pk, False), (fine.pk, True)]
    hostile.refresh_from_db()
    assert "unforeseen way (RecursionError)" in hostile.last_error
    assert (hostile.lease_token, hostile.failures) == (None, 1)


def test_what_an_error_says_is_stored_in_one_line_without_control_characters(
    blog: Blog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(body: bytes, **facts: Any) -> ParsedFeed:
        raise ParseError("Bad \x00\n thing " + "x" * 9000)

    monkeypatch.setattr(reading, "parse", parse)
    blog.watch()
    assert blog.poll(0).error.startswith("Bad thing xxx")
    assert len(blog.feed.last_error) == 1000
