"""When a feed is due, who reads it, and the effect of a failure.

Fetching threads: all of them are busy while there is work.
Polling intervals: servers' wishes, permanent redirects, and each poll's record.
"""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from feeds.addresses import host_of_url
from feeds.models import Feed, Host, Poll
from feeds.parsing import document
from feeds.parsing.entry import ParsedFeed, ParseError
from feeds.polling import read as reading
from feeds.polling.poll import Fetchers, poll_due, poll_feed, request_poll
from feeds.polling.read import Ask
from tests.factories import NOW, FeedFactory
from tests.feeds.watched import Blog, at, post
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


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_more_requests_begin_than_there_are_threads_so_that_none_waits_for_the_pass(threads: int) -> None:
    nobody: Any = None
    with closing(Fetchers(threads, nobody, lambda: NOW)) as fetchers:
        begun = sum(1 for _ in begin(fetchers, most=100))
        assert threads < begun < threads + 8
        assert sum(1 for _ in fetchers.finished(5)) >= 1
        assert not fetchers.is_full


def begin(fetchers: Fetchers, *, most: int) -> Iterator[None]:
    """They fail, as there is no client; that is a result like any other."""
    while not fetchers.is_full and most:
        fetchers.start(Ask("", {1: None}), "x.example")
        most -= 1
        yield


def next_of(blog: Blog) -> tuple[float, str]:
    """Return the minutes after the adding, and the reason."""
    return (blog.feed.next_poll_at - at(0)) / timedelta(minutes=1), blog.feed.next_poll_why


def test_max_age_is_kept_up_to_the_ceiling(blog: Blog) -> None:
    blog.serve(rss([]), headers={"Cache-Control": "max-age=1800"})
    blog.watch()
    blog.read(0)
    assert next_of(blog) == (30, "cache")
    blog.serve(rss([]), headers={"Cache-Control": "max-age=86400"})
    blog.read(30)
    assert next_of(blog) == (90, "cache")


def test_posts_that_settle_go_before_every_wish(blog: Blog) -> None:
    blog.serve(rss([post("a")]), headers={"Cache-Control": "max-age=1800"})
    blog.watch(start="all")
    for minutes in (0, 10, 20, 30):
        blog.read(minutes)
        assert next_of(blog) == (minutes + 10, "settling")
    blog.read(40)
    assert next_of(blog) == (70, "cache")


def test_the_ttl_of_the_kept_document_counts_at_a_304(blog: Blog) -> None:
    body = rss([], extra="<ttl>25</ttl>")
    blog.serve(body, headers={"ETag": '"one"'})
    blog.watch()
    blog.read(0)
    assert next_of(blog) == (25, "ttl")
    blog.serve(b"", status=304)
    blog.read(25)
    assert next_of(blog) == (50, "ttl")


def test_a_feed_whose_period_has_ended_is_read_at_once_all_the_same(blog: Blog) -> None:
    blog.serve(rss([]), headers={"Cache-Control": "max-age=1800"})
    blog.watch()
    blog.read(0)
    assert request_poll(feed_ids=[blog.feed.pk], now=at(5)) == 1
    assert [result.feed_id for result in poll_due(clock=lambda: at(5))] == [blog.feed.pk]


def test_a_permanent_redirect_is_believed_at_the_fifth_reading(blog: Blog, server: FeedServer) -> None:
    new = server.serve("/new.xml", rss([post("a")]))
    server.redirect(blog.path, new, status=301)
    blog.watch(start="all")
    old = blog.feed.url
    for minutes in (0, 10, 20, 30):
        blog.read(minutes)
        assert blog.feed.url == old
    blog.read(40)
    assert blog.feed.url == new
    assert blog.states() == {"a": "unassigned"}
    assert "redirected there for good at 5 readings" in Poll.objects.latest("at").note
    asked = len(server.asked(blog.path))
    blog.read(50)
    assert len(server.asked(blog.path)) == asked


@pytest.mark.parametrize("status", [302, 307])
def test_a_temporary_redirect_is_never_believed(blog: Blog, server: FeedServer, status: int) -> None:
    server.redirect(blog.path, server.serve("/new.xml", rss([])), status=status)
    blog.watch()
    old = blog.feed.url
    for minutes in range(0, 100, 10):
        blog.read(minutes)
    assert blog.feed.url == old


def test_a_redirect_that_was_mended_in_between_is_counted_anew(blog: Blog, server: FeedServer) -> None:
    new = server.serve("/new.xml", rss([]))
    blog.watch()
    for minutes in range(10):
        if minutes == 4:
            blog.serve(rss([]))
        else:
            server.redirect(blog.path, new, status=301)
        blog.read(minutes * 10)
    assert blog.feed.url == new
    assert server.asked(blog.path)[9:] == server.asked(blog.path)[-1:]


def test_a_redirect_to_another_host_is_not_believed_for_a_feed_with_credentials(
    server: FeedServer, db: None
) -> None:
    with FeedServer("127.0.0.2") as other:
        url = server.redirect("/feed.xml", other.serve("/feed.xml", rss([])), status=301) or server.url(
            "/feed.xml"
        )
        feed = FeedFactory(url=url, credentials={"user": "ada", "password": "secret"})
        for minutes in range(0, 100, 10):
            assert poll_feed(feed_id=feed.pk, now=at(minutes)).ok  # type: ignore[union-attr]
        assert all("authorization" not in request.headers for request in other.requests)
    assert Feed.objects.get().url == url


def test_a_redirect_to_another_host_has_floods_asked_about_again(server: FeedServer, db: None) -> None:
    with FeedServer("127.0.0.2") as other:
        for target, remembered in ((server, True), (other, False)):
            server.redirect("/feed.xml", target.serve("/new.xml", rss([])), status=301)
            url = server.url("/feed.xml")
            feed = FeedFactory(url=url, host=host_of_url(url), floods_sent_at=at(0))
            for minutes in range(0, 60, 10):
                assert poll_feed(feed_id=feed.pk, now=at(minutes)).ok  # type: ignore[union-attr]
            feed.refresh_from_db()
            assert feed.url == target.url("/new.xml")
            assert (feed.floods_sent_at is not None) == remembered


def test_every_poll_leaves_a_line(blog: Blog) -> None:
    body = rss([post("a"), post("b")])
    blog.serve(body, headers={"ETag": '"one"'})
    blog.watch(start="all")
    blog.read(0)
    blog.serve(b"", status=304)
    blog.read(10)
    blog.serve(b"", status=500)
    blog.poll(20)
    lines = Poll.objects.order_by("at").values_list("outcome", "status", "bytes", "new", "next_poll_why")
    assert list(lines) == [
        ("read", 200, len(body), 2, "settling"),
        ("unchanged", 304, 0, 0, "settling"),
        ("failed", 500, 0, 0, "backoff"),
    ]
    assert "HTTP 500" in Poll.objects.latest("at").note


def test_quiet_polls_together_leave_what_each_alone_would(server: FeedServer, db: None) -> None:
    feeds = [FeedFactory(url=server.serve(f"/{n}.xml", rss([])), next_poll_at=at(0)) for n in range(5)]
    poll_due(clock=lambda: at(0))
    poll_due(clock=lambda: at(10))
    assert Poll.objects.filter(outcome="unchanged", at=at(10), status=200).count() == 5
    rows = Feed.objects.values_list(
        "fetched_through", "last_polled_at", "next_poll_at", "next_poll_why", "lease_token"
    )
    assert set(rows) == {(at(10), at(10), at(20), "interval", None)}
    assert Host.objects.count() == 1
    assert len(feeds) == 5


def test_a_feed_that_is_down_for_long_is_asked_at_least_daily_and_at_its_interval_once_it_is_back(
    blog: Blog,
) -> None:
    blog.serve(b"", status=500)
    blog.watch()
    minutes = 0.0
    for _ in range(30):
        blog.poll(minutes)
        pause = blog.feed.next_poll_at - at(minutes)
        assert pause <= timedelta(hours=24) * 1.1
        minutes = (blog.feed.next_poll_at - at(0)) / timedelta(minutes=1)
    assert pause >= timedelta(hours=21)
    blog.show("a")
    blog.read(minutes)
    assert blog.feed.next_poll_at == at(minutes + 10)


def test_a_feed_knows_when_its_newest_post_came_out(blog: Blog) -> None:
    blog.show(post("a", published=at(-600)), post("b", published=at(900)))
    blog.watch()
    blog.read(0)
    assert blog.feed.newest_at == at(-600)
    blog.show("c", post("a", published=at(-600)))
    blog.read(10)
    assert blog.feed.newest_at == at(10)
