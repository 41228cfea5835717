"""Polls of feeds with tracked posts, and the cost without any."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from feeds.items.alerts import note_tracked, track
from feeds.models import Item, TrackedItem
from feeds.polling.poll import poll_due, push_feed
from tests.feeds.watched import Blog, at, post
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback_allowed")]

OLD = [post(f"old{number}", published=at(-60 * (number + 1))) for number in range(4)]
A, CORRECTED = (post("a", published=at(5), title=title) for title in ("Bees", "Bees, corrected"))


@pytest.fixture
def blog() -> Iterator[Blog]:
    """Serve a blog whose post a was sent and cleared."""
    with FeedServer() as server:
        made = Blog(server)
        made.show(*OLD)
        made.watch()
        made.read(0)
        made.show(A, *OLD)
        made.read(10)
        made.read(50)
        yield made


def sent(blog: Blog, *, is_tracked: bool = True) -> None:
    item = blog.item("a")
    Item.objects.filter(pk=item.pk).update(state="cleared", entry=None, content_hash="")
    if is_tracked:
        track({item.pk: item.content_hash}, until=at(24 * 60))
        note_tracked()


def title_kept() -> Any:
    """Return the title of the text that was seen last."""
    [entry] = TrackedItem.objects.values_list("entry", flat=True)
    return entry["title"] if entry else None


def test_feeds_without_tracked_posts_are_asked_nothing_of_them(blog: Blog) -> None:
    sent(blog, is_tracked=False)
    with CaptureQueriesContext(connection) as asked:
        blog.read(60)
        blog.show(CORRECTED, *OLD)
        blog.read(70)
        blog.serve(b"no", status=500)
        blog.poll(80)
        blog.show(CORRECTED, *OLD[1:])
        poll_due(clock=lambda: at(400))
    assert len(asked) > 20
    assert not [query["sql"] for query in asked if "trackeditem" in query["sql"]]


def test_a_correction_is_kept_with_its_text(blog: Blog) -> None:
    sent(blog)
    blog.show(CORRECTED, *OLD)
    blog.read(60)
    row = TrackedItem.objects.get()
    assert (row.news, row.seen_since) == ("", at(60))
    assert title_kept() == "Bees, corrected"
    assert blog.item("a").entry is None
    # Unchanged, by a 304 and by the same bytes.
    blog.read(76)
    row.refresh_from_db()
    assert (row.news, title_kept()) == ("corrected", "Bees, corrected")


@pytest.mark.django_db
def test_feeds_that_are_recorded_together_are_looked_at_too(blog: Blog) -> None:
    sent(blog)
    other = Blog(blog.server, "/other.xml")
    other.show(*OLD)
    other.watch()
    other.read(0)
    blog.show(CORRECTED, *OLD)
    blog.read(60)
    assert {result.ok for result in poll_due(clock=lambda: at(180))} == {True}
    assert TrackedItem.objects.get().news == "corrected"


def test_a_withdrawal_is_noticed(blog: Blog) -> None:
    sent(blog)
    blog.show(*OLD)
    for minute, missing, news in ((60, at(60), ""), (100, at(60), ""), (121, at(60), "withdrawn")):
        blog.read(minute)
        row = TrackedItem.objects.get()
        assert (row.missing_since, row.news) == (missing, news)


def test_a_post_that_comes_under_another_guid_is_not_withdrawn(blog: Blog) -> None:
    sent(blog)
    blog.show({**A, "guid": "another"}, *OLD)
    for minute in (60, 100, 130):
        blog.read(minute)
    row = TrackedItem.objects.get()
    assert (row.missing_since, row.news) == (None, "")


def test_a_push_withdraws_nothing_and_may_correct(blog: Blog) -> None:
    sent(blog)
    body = rss([CORRECTED])
    push_feed(feed_id=blog.feed.pk, body=body, headers={}, moment=at(60), now=at(60))
    assert TrackedItem.objects.get().seen_since == at(60)
    blog.show(CORRECTED, *OLD)
    blog.read(90)
    assert TrackedItem.objects.get().news == "corrected"
    push_feed(
        feed_id=blog.feed.pk, body=rss([post("b", published=at(91))]), headers={}, moment=at(92), now=at(92)
    )
    assert TrackedItem.objects.get().missing_since is None


def test_a_post_that_waits_in_another_collection_is_tracked_all_the_same(blog: Blog) -> None:
    item = blog.item("a")
    Item.objects.filter(pk=item.pk).update(state="assigned")
    track({item.pk: item.content_hash}, until=at(24 * 60))
    note_tracked()
    blog.show(CORRECTED, *OLD)
    blog.read(60)
    blog.read(80)
    assert TrackedItem.objects.get().news == "corrected"
    assert Item.objects.values_list("entry__title", flat=True).get(guid="a") == "Bees, corrected"


def test_dropping_a_feed_drops_what_was_tracked(blog: Blog) -> None:
    sent(blog)
    blog.feed.delete()
    assert not TrackedItem.objects.exists()
