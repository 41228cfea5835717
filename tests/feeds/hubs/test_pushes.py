"""Storing pushes: planned like a reading, but posts absent from a push are not missing."""

import hashlib

import pytest
from django.db import transaction

from feeds.models import Feed, FeedDocument
from feeds.parsing.document import parse
from feeds.polling.read import Reading
from feeds.polling.store import prepare, store
from feeds.rules.facts import PollPlan
from tests.feeds.watched import Blog, at, post
from tests.servers.documents import rss


@pytest.fixture
def watched(blog: Blog) -> Blog:
    blog.show("c", "b", "a")
    blog.watch()
    blog.read(0)
    return blog


def push(blog: Blog, minutes: float, *posts: dict[str, str] | str) -> PollPlan:
    body = rss([post(one) if isinstance(one, str) else one for one in posts])
    url = blog.feed.url
    reading = Reading(
        body=body,
        sha256=hashlib.sha256(body).hexdigest(),
        headers={"content-type": "application/rss+xml"},
        url=url,
        moment=at(minutes),
        parsed=parse(body, content_type="application/rss+xml", url=url),
        partial=True,
    )
    rows = prepare(blog.feed, reading)
    with transaction.atomic():
        feed = Feed.objects.select_for_update().get(pk=blog.feed.pk)
        plan = store(feed, reading, rows)
        feed.save()
    blog.feed.refresh_from_db()
    return plan


def test_a_pushed_post_is_new_and_the_others_are_left_alone(watched: Blog) -> None:
    watched.show("d", "c", "b", "a")
    watched.read(10)
    counts = push(watched, 15, "e").counts
    assert (counts["new"], counts["vanished"]) == (1, 0)
    assert watched.item("d").last_checked == at(10)
    watched.show("e", "d", "c", "b", "a")
    watched.read(47)
    assert watched.final() == {"d", "e"}


def test_a_push_settles_nothing_that_was_known(watched: Blog) -> None:
    """A push may be an old copy; only a reading shows the feed's current state."""
    push(watched, 10, "d")
    assert push(watched, 41, "d").finalise == []
    watched.show("d")
    assert watched.read(42).final == 1


def test_a_late_push_does_not_bring_back_what_was_withdrawn(watched: Blog) -> None:
    push(watched, 10, "d")
    assert watched.read(20).vanished == 1
    push(watched, 30, "d", "e")
    assert watched.item("d").vanished_at == at(20)


def test_a_pushed_post_that_was_withdrawn_at_once_is_not_sent(watched: Blog) -> None:
    """The document is the same as before the push: 304, or the same bytes."""
    push(watched, 10, "d")
    assert watched.read(20).vanished == 1
    watched.read(100)
    assert watched.final() == set()


def test_the_next_reading_after_a_push_is_a_whole_one(watched: Blog) -> None:
    FeedDocument.objects.update(
        headers={"etag": '"1"', "last-modified": "x", "url": "u", "content-type": "t"}
    )
    push(watched, 10, "c")
    assert FeedDocument.objects.get().headers["etag"] == '"1"', "it brought nothing"
    push(watched, 20, "d", "c")
    document = FeedDocument.objects.get()
    assert (document.headers, document.sha256) == ({"url": "u", "content-type": "t"}, "")


def test_the_kept_document_stays_with_what_was_pushed_in_front_of_its_order(watched: Blog) -> None:
    before = FeedDocument.objects.get()
    push(watched, 10, "e", "d", "c")
    document = FeedDocument.objects.get()
    assert bytes(document.body) == bytes(before.body)
    names = [watched.item(guid).guid_hash[:32] for guid in "edcba"]
    assert bytes(document.order).hex() == "".join(names)


def test_a_push_to_a_feed_that_was_never_read_is_passed_over(blog: Blog) -> None:
    blog.watch()
    assert push(blog, 0, "a") == PollPlan()
    assert not blog.states()


def test_what_may_be_a_repost_waits_for_the_next_reading(watched: Blog) -> None:
    watched.show("d", "c", "b", "a")
    watched.read(10)
    pushed = {**post("d"), "guid": "d2"}
    plan = push(watched, 15, pushed)
    assert (plan.insert, len(plan.deferred)) == ([], 1)
    watched.show(pushed, "c", "b", "a")
    assert watched.read(20).new == 0
    assert watched.item("d2").first_seen == at(10)


def test_edits_that_are_pushed_are_taken_and_are_no_unrest(watched: Blog) -> None:
    push(watched, 10, "d")
    for minutes in (11, 12, 13, 14):
        assert push(watched, minutes, post("d", content=f"<p>{minutes}</p>")).counts["changed"] == 1
    item = watched.item("d")
    assert (item.stable_since, item.changes, watched.feed.restless_polls) == (at(14), 0, 0)


def test_a_pushed_flood_is_held(watched: Blog) -> None:
    assert push(watched, 10, *[f"new {n}" for n in range(11)]).counts["held"] == 11
    assert watched.feed.held_since == at(10)
