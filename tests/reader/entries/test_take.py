"""Polled posts are added to channels: once, in their current version, and remembered for ever."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from feeds.models import Feed, Item
from feeds.polling import audience
from feeds.polling.audience import repair_audience
from feeds.polling.page_text import robots_texts
from feeds.polling.whole import read_pages
from reader.channels.filters import mute
from reader.channels.follows import follow_feed
from reader.entries.place import place_due
from reader.entries.prune import drop_unwanted_feeds, prune_entries
from reader.entries.take import copy_posts
from reader.models import Channel, Entry, Reader, TimelineEntry, Unread
from reader.rules.placement import Hidden, placement
from tests.factories import FeedFactory
from tests.feeds.watched import Blog, at, post
from tests.races import beside
from tests.reader.client import MicrosubClient

pytestmark = pytest.mark.django_db


def followed(blog: Blog, channel: Channel, **options: Any) -> Blog:
    """Follow a feed before it is read, without a newsletter."""
    blog.watch(**{"for_letters": False, **options})
    follow_feed(channel=channel, feed=blog.feed, clock=lambda: at(-1))
    return blog


def poll(blog: Blog, minutes: float) -> None:
    blog.read(minutes)
    place_due(clock=lambda: at(minutes + 0.1))


def said(entry: Entry) -> dict[str, Any]:
    assert entry.jf2 is not None
    return dict(entry.jf2)


def names(channel: Channel) -> list[str]:
    rows = TimelineEntry.objects.seen().filter(channel=channel).order_by("-at", "-pk")
    return [said(row.entry)["name"] for row in rows.select_related("entry")]


def unread(channel: Channel) -> list[str]:
    rows = Unread.objects.filter(channel=channel).order_by("-at", "-place_id")
    return [said(row.place.entry)["name"] for row in rows.select_related("place__entry")]


def test_the_first_reading_stands_at_its_dates_and_later_posts_where_they_come(
    blog: Blog, home: Channel
) -> None:
    dated = [post(str(number), published=at(0) - timedelta(days=7 * number)) for number in range(12)]
    blog.show(*dated)
    poll(followed(blog, home), 0)
    assert names(home) == [f"Post {number}" for number in range(12)]
    assert unread(home) == [f"Post {number}" for number in range(5)], "those of the last thirty days"
    blog.show(post("late", published=at(0) - timedelta(days=400)), *dated)
    poll(blog, 10)
    assert names(home)[0] == "Post late", "an old date does not hide that it came today"
    assert unread(home)[0] == "Post late"


def test_the_text_of_a_posts_page_takes_the_place_of_its_excerpt(blog: Blog, home: Channel) -> None:
    robots_texts.clear()
    page = f"<article>{'<p>A whole post, with <b>gulls</b>, which the feed leaves out.</p>' * 9}</article>"
    link = blog.server.serve("/new", page, headers={"Content-Type": "text/html"})
    blog.show("old")
    poll(followed(blog, home, fetch_whole=True), 0)
    blog.show(post("new", link=link, content="<p>Excerpt</p>"), "old")
    poll(blog, 10)
    read_pages(clock=lambda: at(10))
    entry = Entry.objects.get(item__guid="new")
    assert "<b>gulls</b>" in said(entry)["content"]["html"]
    assert "gulls" in entry.text
    blog.show(post("new", link=link, content="<p>Excerpt</p>"), "old", title="Another")
    poll(blog, 20)
    assert "gulls" in said(Entry.objects.get(item__guid="new"))["content"]["text"]


def test_of_many_posts_the_newest_hundred_come_and_ten_are_unread(blog: Blog, home: Channel) -> None:
    blog.show(*(post(str(number), published=at(-number)) for number in range(130)))
    poll(followed(blog, home), 0)
    assert names(home) == [f"Post {number}" for number in range(100)]
    assert unread(home) == [f"Post {number}" for number in range(10)]


def test_posts_of_one_reading_stand_as_they_do_in_the_feed(blog: Blog, home: Channel) -> None:
    poll(followed(blog, home), 0)
    blog.show("c", "b", "a")
    poll(blog, 10)
    assert names(home) == ["Post c", "Post b", "Post a"]


def test_an_edited_post_is_shown_as_it_is_now_and_stays_read(blog: Blog, home: Channel) -> None:
    blog.show("a")
    poll(followed(blog, home), 0)
    Unread.objects.all().delete()
    blog.show(post("a", title="New title"))
    poll(blog, 10)
    assert (names(home), unread(home)) == (["New title"], [])


def test_what_letters_do_not_show_is_a_change_too(blog: Blog, home: Channel) -> None:
    def page(photo: str) -> str:
        picture = f'<img class="u-photo" src="{photo}">'
        card = f'<p class="p-author h-card"><a class="u-url p-name" href="/">A</a>{picture}</p>'
        return f'<div class="h-entry"><a class="u-url" href="/1">x</a><p class="p-name">T</p>{card}</div>'

    blog.serve(page("/old.png"), headers={"Content-Type": "text/html"})
    poll(followed(blog, home), 0)
    blog.serve(page("/new.png"), headers={"Content-Type": "text/html"})
    poll(blog, 10)
    assert said(Entry.objects.get())["author"]["photo"].endswith("/new.png")


def test_a_post_that_was_withdrawn_before_it_settled_goes_and_may_come_back(
    blog: Blog, home: Channel
) -> None:
    blog.show("a")
    poll(followed(blog, home, for_letters=True), 0)
    blog.show("b", "a")
    poll(blog, 10)
    blog.show("a")
    poll(blog, 20)
    assert (names(home), unread(home)) == (["Post a"], ["Post a"])
    blog.show("b", "a")
    poll(blog, 30)
    assert names(home) == ["Post b", "Post a"]
    assert unread(home) == ["Post b", "Post a"]


def test_a_post_that_leaves_the_feed_stays(blog: Blog, home: Channel) -> None:
    blog.show("b", "a")
    poll(followed(blog, home), 0)
    blog.show("c")
    poll(blog, 10)
    assert names(home) == ["Post c", "Post b", "Post a"]


def test_reposts_guids_that_churn_and_a_feed_that_moves_bring_nothing_twice(
    blog: Blog, home: Channel
) -> None:
    blog.show("b", "a")
    poll(followed(blog, home), 0)
    for turn in range(1, 4):
        blog.show(
            *(
                post(f"{name}-{turn}", title=f"Post {name}", link=f"https://blog.example.org/{name}")
                for name in "ba"
            )
        )
        poll(blog, 10 * turn)
    Feed.objects.update(url=blog.server.url("/moved.xml"), first_polled_at=None)
    blog.path = "/moved.xml"
    blog.show("b", "a")
    poll(blog, 60)
    assert sorted(names(home)) == ["Post a", "Post b"]
    assert Entry.objects.count() == 2


def test_what_a_repost_changes_is_shown(blog: Blog, home: Channel) -> None:
    blog.show("a")
    poll(followed(blog, home), 0)
    blog.show(post("a2", link="https://blog.example.org/a", title="Post a", content="<p>mended</p>"))
    poll(blog, 10)
    assert said(Entry.objects.get())["content"]["text"] == "mended"


def test_the_same_post_by_two_feeds_is_shown_once_a_channel(blog: Blog, home: Channel) -> None:
    blog.show("a")
    poll(followed(blog, home), 0)
    other = Blog(blog.server, "/other.xml")
    other.show(post("x", link="http://blog.example.org/a?utm_source=y", title="Again"))
    poll(followed(other, home), 5)
    assert names(home) == ["Post a"]
    assert TimelineEntry.objects.filter(hidden=TimelineEntry.Hidden.DUPLICATE).count() == 1


def test_a_removed_post_never_comes_back(blog: Blog, home: Channel, api: MicrosubClient) -> None:
    blog.show("a")
    poll(followed(blog, home), 0)
    (one,) = api.ask("timeline", channel="home")["items"]
    api.do("timeline", method="remove", channel="home", entry=one["_id"])
    blog.show(post("a", title="Edited"))
    poll(blog, 10)
    blog.show(post("a2", link="https://blog.example.org/a", title="Post a"))
    poll(blog, 20)
    api.do("unfollow", channel="home", url=blog.feed.url)
    api.do("follow", channel="home", url=blog.feed.url)
    place_due()
    assert api.names() == []


def test_whoever_follows_a_feed_that_is_watched_has_its_posts_at_once(blog: Blog, home: Channel) -> None:
    blog.show(*(post(str(number), published=at(-60 * number)) for number in range(12)))
    blog.watch()
    blog.read(0)
    follow_feed(channel=home, feed=blog.feed, clock=lambda: at(5))
    assert names(home) == [f"Post {number}" for number in range(12)]
    assert len(unread(home)) == 10
    blog.feed.refresh_from_db()
    assert (blog.feed.read_by, blog.feed.for_letters) == (1, True)


def test_what_an_author_wrote_who_is_muted_or_blocked_does_not_show(blog: Blog, home: Channel) -> None:
    site = "https://blog.example.org/"
    mute(reader=home.reader, channel=home, url=site, now=at(0))
    blog.show("a", link=site)
    poll(followed(blog, home), 0)
    assert (names(home), unread(home)) == ([], [])
    assert TimelineEntry.objects.get().hidden == TimelineEntry.Hidden.MUTED
    mute(reader=home.reader, channel=None, url=site, now=at(0), is_block=True)
    blog.show("b", "a", link=site)
    poll(blog, 10)
    assert TimelineEntry.objects.count() == 1, "a block takes nothing more"


@pytest.mark.parametrize(
    ("facts", "hidden"),
    [
        ({}, Hidden.SEEN),
        ({"is_filtered": True}, Hidden.FILTERED),
        ({"has_copy": True, "is_filtered": True}, Hidden.DUPLICATE),
        ({"mutes": {False}, "has_copy": True, "is_filtered": True}, Hidden.MUTED),
        ({"mutes": {False, True}}, None),
        ({"is_withdrawn": True}, None),
        ({"is_known": True}, None),
    ],
)
def test_the_strongest_reason_decides_whether_a_post_is_shown(facts: Any, hidden: Hidden | None) -> None:
    usual = {"is_known": False, "is_withdrawn": False, "mutes": (), "has_copy": False, "is_filtered": False}
    assert placement(**usual | facts) is hidden


def failing(feed: Any, told: Any) -> None:
    copy_posts(feed, told)
    raise RuntimeError("an audience that fails")


def test_what_failed_is_made_up_for_once(blog: Blog, home: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    poll(followed(blog, home, for_letters=True), 0)
    monkeypatch.setattr(audience, "audiences", [failing])
    blog.show("a")
    poll(blog, 10)
    assert (blog.states(), names(home)) == ({"a": "unassigned"}, [])
    monkeypatch.setattr(audience, "audiences", [copy_posts])
    repair_audience(now=at(11))
    repair_audience(now=at(12))
    place_due(clock=lambda: at(13))
    poll(blog, 20)
    assert (names(home), unread(home)) == (["Post a"], ["Post a"])


class TestForgetting:
    def test_what_was_forgotten_does_not_come_again_as_new(
        self, blog: Blog, home: Channel, settings: Any
    ) -> None:
        settings.READER_KEEP_READ_DAYS, settings.READER_KEEP_UNREAD_DAYS = 10, 20
        poll(followed(blog, home), 0)
        blog.show("b", "a")
        poll(blog, 10)
        Unread.objects.filter(place__entry__jf2__name="Post a").delete()
        days = 24 * 60
        assert prune_entries(now=at(9 * days)) == 0
        assert prune_entries(now=at(15 * days)) == 1
        assert names(home) == ["Post b"], "unread posts are kept for longer"
        assert prune_entries(now=at(25 * days)) == 1
        assert set(Entry.objects.values_list("jf2", "text")) == {(None, "")}
        blog.show(post("b", title="Edited"), "a")
        poll(blog, 26 * days)
        assert (names(home), unread(home), Entry.objects.count()) == ([], [], 2)

    def test_a_channel_may_keep_less_and_a_new_follow_is_not_forgotten_at_once(
        self, blog: Blog, home: Channel
    ) -> None:
        blog.show(post("old", published=at(0) - timedelta(days=300)))
        poll(followed(blog, home), 0)
        assert prune_entries(now=at(60)) == 0
        Channel.objects.filter(pk=home.pk).update(keep_days=3)
        assert prune_entries(now=at(4 * 24 * 60)) == 1

    def test_a_feed_that_nobody_wants_goes_after_a_day(self, blog: Blog, home: Channel) -> None:
        blog.show("a")
        poll(followed(blog, home), 0)
        api = MicrosubClient(home.reader)
        api.do("unfollow", channel="home", url=blog.feed.url)
        left = Feed.objects.get()
        assert (left.read_by, names(home)) == (0, ["Post a"])
        assert left.unread_since is not None
        assert drop_unwanted_feeds(now=left.unread_since + timedelta(hours=23)) == 0
        assert drop_unwanted_feeds(now=left.unread_since + timedelta(hours=25)) == 1
        assert not Item.objects.exists()
        assert api.names() == ["Post a"], "what they have of it stays"

    def test_a_feed_that_letters_want_stays(self, home: Channel) -> None:
        long_ago = at(0) - timedelta(days=9)
        FeedFactory(unread_since=long_ago)
        FeedFactory(for_letters=False, read_by=1, unread_since=long_ago)
        assert drop_unwanted_feeds(now=at(0)) == 0


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_a_post_that_is_withdrawn_beside_its_placing_is_not_shown(
    transactional_db: None, blog: Blog, home: Channel
) -> None:
    blog.show("a")
    followed(blog, home).read(0)

    def withdraw() -> None:
        Entry.objects.update(withdrawn_at=at(1), due_at=at(1))

    beside(withdraw, lambda: place_due(clock=lambda: at(2)))
    place_due(clock=lambda: at(3))
    assert names(home) == []
    assert Entry.objects.get().due_at is None


@pytest.mark.parametrize("wanted", [True, False])
def test_a_corrected_post_becomes_unread_for_who_asks_for_it(blog: Blog, home: Channel, wanted: bool) -> None:
    Reader.objects.update(corrected_unread=wanted)
    blog.show(post("a"), post("b"))
    poll(followed(blog, home), 0)
    Unread.objects.all().delete()
    blog.show(post("a", content="<p>another text</p>"), post("b", content="<p><b>b</b></p>"))
    poll(blog, 10)
    assert unread(home) == (["Post a"] if wanted else [])
    Unread.objects.all().delete()
    poll(blog, 20)
    assert unread(home) == []
