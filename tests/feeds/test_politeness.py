"""Conditional requests, and none before the server's wish."""

from datetime import timedelta

import pytest

from feeds.models import FeedDocument
from tests.feeds.watched import Blog, at, post
from tests.servers.documents import rss
from tests.servers.feed_server import Reply, Request

VALIDATORS = {"ETag": '"v1"', "Last-Modified": "Fri, 01 May 2026 11:00:00 GMT"}


def answering(blog: Blog) -> None:
    """Serve 304 to clients that have the document."""
    body = rss([post("a")])

    def reply(request: Request) -> Reply:
        if request.headers.get("if-none-match") == VALIDATORS["ETag"]:
            return Reply(status=304, headers={"ETag": VALIDATORS["ETag"]})
        return Reply(body, headers=VALIDATORS)

    blog.server.answer(blog.path, reply)


def asked(blog: Blog) -> list[tuple[str | None, str | None]]:
    """Return the conditions of each request."""
    return [
        (request.headers.get("if-none-match"), request.headers.get("if-modified-since"))
        for request in blog.server.asked(blog.path)
    ]


def test_the_validators_are_sent_as_they_came(blog: Blog) -> None:
    answering(blog)
    blog.watch(start="all")
    blog.read(0)
    blog.read(10)
    blog.read(20)
    blog.read(30)
    known = (VALIDATORS["ETag"], VALIDATORS["Last-Modified"])
    # Every second one, as the document has not changed yet.
    assert asked(blog) == [(None, None), known, (None, None), known]


def test_a_304_confirms_every_waiting_post_and_settles_it(blog: Blog) -> None:
    answering(blog)
    blog.watch(start="all")
    for minutes in (0, 10, 20, 30):
        blog.read(minutes)
    assert blog.final() == set()
    assert blog.read(40).final == 1
    assert blog.item("a").final_at == at(40)
    assert blog.feed.fetched_through == at(40)


def test_a_304_that_nobody_asked_for_is_an_error(blog: Blog) -> None:
    blog.serve(b"", status=304)
    blog.watch()
    assert "HTTP 304" in blog.poll(0).error


def test_a_document_that_could_not_be_read_leaves_the_validators_alone(blog: Blog) -> None:
    answering(blog)
    blog.watch()
    blog.read(0)
    blog.serve(b"<html>Down for now</html>", headers={"ETag": '"broken"'})
    assert not blog.poll(10).ok
    assert FeedDocument.objects.get().headers["etag"] == VALIDATORS["ETag"]


def test_the_same_bytes_under_a_new_etag_renew_the_validator(blog: Blog) -> None:
    blog.serve(rss([post("a")]), headers={"ETag": '"one"'})
    blog.watch()
    blog.read(0)
    blog.serve(rss([post("a")]), headers={"ETag": '"two"'})
    blog.read(10)
    assert FeedDocument.objects.get().headers["etag"] == '"two"'


def test_a_new_address_is_read_in_full(blog: Blog) -> None:
    answering(blog)
    feed = blog.watch()
    blog.read(0)
    feed.first_polled_at = None
    feed.save(update_fields=["first_polled_at"])
    blog.read(10)
    assert asked(blog)[-1] == (None, None)


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_kept(blog: Blog, status: int) -> None:
    blog.serve(b"", status=status, headers={"Retry-After": str(6 * 3600)})
    blog.watch()
    blog.poll(0)
    assert blog.feed.next_poll_at == at(6 * 60)


@pytest.mark.parametrize(("status", "least"), [(403, 54), (429, 54), (500, 9)])
def test_who_keeps_us_away_is_asked_again_after_an_hour_others_after_the_interval(
    blog: Blog, status: int, least: int
) -> None:
    blog.serve(b"", status=status)
    blog.watch()
    blog.poll(0)
    assert at(least) <= blog.feed.next_poll_at <= at(least) + timedelta(minutes=12)


def test_recovery_forgets_the_failures(blog: Blog) -> None:
    blog.serve(b"", status=500)
    blog.watch()
    for minutes in (0, 100, 300):
        blog.poll(minutes)
    blog.show("a")
    blog.read(600)
    assert blog.feed.failures == 0
    assert blog.feed.next_poll_at == at(610)
