"""Polling intervals: servers' wishes, permanent redirects, and each poll's record."""

from datetime import timedelta

import pytest

from feeds.addresses import host_of_url
from feeds.models import Feed, Host, Poll
from feeds.polling.poll import poll_due, poll_feed, request_poll
from tests.factories import FeedFactory
from tests.feeds.watched import Blog, at, post
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer


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
