"""A feed with a clock in every post is detected, reported, and sent once, after the longest delay.

Text common to all summaries of a feed is found at a reading, and stored with feed and posts.
"""

from datetime import datetime
from typing import Any

import pytest

from feeds.items.held import include_item, present_entries
from feeds.items.history import standing
from feeds.models import FeedDocument, Item
from feeds.parsing.entry import Entry
from feeds.polling.describe import RESTLESS_FEED
from feeds.rules.boilerplate import summary_of, without_boilerplate
from subscriptions.collections.assign import assign_item
from subscriptions.models import Assignment
from tests.factories import SubscribableFactory
from tests.feeds.hubs.test_pushes import push
from tests.feeds.watched import Blog, at, post

TEXTS = {"a": "One bee.", "b": "Bees again!", "c": "A queen.", "d": "Wax it is.", "e": "Honey now."}
TOLD = RESTLESS_FEED.format(180)


@pytest.fixture
def watched(blog: Blog) -> Blog:
    blog.show("old")
    blog.watch()
    blog.read(0)
    return blog


def ticking(name: str, minutes: float) -> dict[str, str]:
    return post(name, content=f"<p>{name}, read at minute {minutes}.</p>")


def read(blog: Blog, minutes: float, *names: str, steady: tuple[str, ...] = ()) -> None:
    """Read the feed after the clock has advanced in each of these posts."""
    blog.show(*[ticking(name, minutes) for name in names], *steady, "old")
    blog.read(minutes)


def test_posts_with_a_clock_are_sent_once_and_after_the_longest_delay(watched: Blog) -> None:
    SubscribableFactory(feeds=[watched.feed])
    settled: dict[str, datetime | None] = {}
    for minutes in range(10, 600, 10):
        read(watched, minutes, *(("b", "a") if minutes >= 100 else ("a",)))
        for item in Item.objects.final():
            settled[item.guid] = item.final_at
            assert assign_item(item_id=item.pk, now=at(minutes))
    assert settled == {"a": at(200), "b": at(290)}, "at the first reading after 180 minutes"
    assert Assignment.objects.count() == 2
    assert watched.feed.warning == TOLD


def test_the_feed_is_told_to_be_restless_after_three_readings_in_a_row(watched: Blog) -> None:
    read(watched, 10, "a")
    for minutes in (20, 30):
        read(watched, minutes, "a")
        assert watched.feed.warning == ""
    read(watched, 40, "a")
    assert (watched.feed.restless_polls, watched.feed.warning) == (3, TOLD)
    assert watched.item("a").changes == 3
    assert "It changed at each of the last 3 readings" in standing(watched.item("a"), at(40))


def test_a_feed_in_which_one_post_rests_is_not_restless(watched: Blog) -> None:
    for minutes in (10, 20, 30, 40, 50):
        read(watched, minutes, "a", steady=("b",))
    assert (watched.feed.restless_polls, watched.feed.warning) == (0, "")
    assert (watched.item("a").changes, watched.item("b").changes) == (4, 0)


def test_rest_ends_it(watched: Blog) -> None:
    for minutes in (10, 20, 30, 40):
        read(watched, minutes, "a")
    watched.show(ticking("a", 40), "old", title="Another title")
    watched.read(50)
    assert (watched.feed.restless_polls, watched.feed.warning) == (0, "")
    assert watched.item("a").changes == 0
    watched.read(56)
    assert watched.final() == {"a"}, "it rested for 16 minutes"


def test_the_same_bytes_again_tell_nothing_of_rest(watched: Blog) -> None:
    for minutes in (10, 20, 30):
        read(watched, minutes, "a")
    watched.read(31)
    assert (watched.feed.restless_polls, watched.item("a").changes) == (2, 2)


def test_a_clock_in_a_feed_without_new_posts_is_not_counted(watched: Blog) -> None:
    for minutes in (10, 20, 30, 40, 50):
        watched.show("old", extra=f"<lastBuildDate>{minutes}</lastBuildDate>")
        watched.read(minutes)
    assert (watched.feed.restless_polls, watched.feed.warning) == (0, "")


def test_the_rhythm_is_read_from_the_documents_dates(watched: Blog) -> None:
    assert watched.feed.rhythm_minutes is None
    dated = [post(f"p{n}", published=at(-60 * n)) for n in range(5)]
    watched.show(post("future", published=at(10_000)), *dated)
    watched.read(10)
    assert watched.feed.rhythm_minutes == 60


def test_the_rhythm_of_a_feed_without_dates_comes_from_when_posts_were_first_seen(watched: Blog) -> None:
    for minutes, names in ((10, ("a",)), (40, ("b", "a")), (100, ("c", "b", "a"))):
        watched.show(*names, "old")
        watched.read(minutes)
    assert watched.feed.rhythm_minutes == 30


def test_what_the_channel_says_of_itself_is_kept(watched: Blog) -> None:
    assert FeedDocument.objects.get().channel["skip_days"] == []


def told(name: str) -> dict[str, Any]:
    link = f'<a href="https://blog.example.org/{name}">Post {name}</a>'
    return post(name, content=f"<p>{TEXTS[name]}</p><p>The post {link} appeared first on Bees.</p>")


def own_words(blog: Blog, name: str) -> str:
    entry = Entry.from_json(blog.item(name).entry or {})
    return without_boilerplate(summary_of(entry), entry.boilerplate)


def test_it_is_kept_with_posts_as_they_come(blog: Blog) -> None:
    blog.show(told("c"), told("b"), told("a"))
    blog.watch()
    blog.read(0)
    blog.show(told("d"), told("c"), told("b"), told("a"))
    blog.read(10)
    assert own_words(blog, "d") == "Wax it is."
    assert blog.feed.boilerplate_end.strip() == "The post \x1a appeared first on Bees."


def test_what_a_hub_pushes_alone_is_known_by_the_last_reading(blog: Blog) -> None:
    blog.show(told("c"), told("b"), told("a"))
    blog.watch()
    blog.read(0)
    push(blog, 5, told("e"))
    assert own_words(blog, "e") == "Honey now."


def test_previews_and_posts_that_are_sent_after_all_have_it(blog: Blog) -> None:
    blog.show(told("c"), told("b"), told("a"))
    blog.watch()
    blog.read(0)
    (first,) = present_entries(blog.feed, 1)
    assert any(first.boilerplate)
    include_item(item_id=blog.item("a").pk, now=at(10))
    assert own_words(blog, "a") == "One bee."


def test_a_feed_of_two_posts_has_none(blog: Blog) -> None:
    blog.show(told("a"))
    blog.watch()
    blog.read(0)
    blog.show(told("b"), told("a"))
    blog.read(10)
    assert "boilerplate" not in (blog.item("b").entry or {})
