"""Feeds and folders, listed and changed by apps. Folders are channels."""

from collections.abc import Callable
from typing import Any

import pytest

from common.clock import utcnow
from common.rates import Limit
from feeds.models import Feed
from feeds.parsing.opml import parse_opml
from reader.channels.filters import mute
from reader.entries.place import place_due
from reader.models import Channel, Follow, Reader, TimelineEntry, Unread
from tests.factories import NOW, FeedFactory
from tests.feeds.watched import Blog
from tests.reader.greader.client import READ, STARRED, GoogleApp, label
from tests.reader.posts import an_entry, minutes, put

pytestmark = pytest.mark.django_db
Post = Callable[..., TimelineEntry]
Channels = Callable[[str], Channel]


def edit(app: GoogleApp, ac: str, feed: object, **given: Any) -> None:
    stream = f"feed/{feed.pk}" if isinstance(feed, Feed) else f"feed/{feed}"
    app.do("subscription/edit", ac=ac, s=stream, T="x", **given)


class TestLists:
    def test_a_feed_is_listed_once_with_its_folders(
        self, app: GoogleApp, ada: Reader, feed: Feed, channel: Channels
    ) -> None:
        channel("Bücher / Meer").follows.create(feed=feed)
        Feed.objects.update(title="", site_url="")
        feed.refresh_from_db()
        assert app.ask("subscription/list") == {
            "subscriptions": [
                {
                    "id": f"feed/{feed.pk}",
                    "title": feed.host,
                    "categories": [
                        {"id": label("Home"), "label": "Home"},
                        {"id": label("Bücher / Meer"), "label": "Bücher / Meer"},
                    ],
                    "url": feed.url,
                    "htmlUrl": feed.url,
                }
            ]
        }
        assert app.ask("tag/list") == {
            "tags": [
                {"id": STARRED},
                {"id": label("Home"), "type": "folder"},
                {"id": label("Bücher / Meer"), "type": "folder"},
            ]
        }

    def test_a_list_of_feeds_is_taken_over_with_its_folders(self, app: GoogleApp, ada: Reader) -> None:
        opml = b"""<opml version="2.0"><body><outline text="Sea"><outline text="Boats" type="rss"
            xmlUrl="https://boats.example/feed"/></outline></body></opml>"""
        assert app.send("subscription/import", opml) == (200, "OK")
        follow = Follow.objects.get(channel__reader=ada)
        assert (follow.channel.name, follow.feed.url) == ("Sea", "https://boats.example/feed")
        status, said = app.send("subscription/import", b"no list at all")
        assert status == 400
        assert "OPML" in said

    def test_the_list_is_taken_along_as_opml(self, app: GoogleApp, feed: Feed) -> None:
        status, text = app.get("subscription/export")
        (outline,) = parse_opml(text.encode()).outlines
        assert (status, outline.url, outline.tags) == (200, feed.url, ("Home",))

    def test_nothing_is_an_empty_list(self, app: GoogleApp) -> None:
        assert app.ask("subscription/list") == {"subscriptions": []}


class TestFollowing:
    def test_an_address_is_followed_in_the_first_folder(self, blog: Blog, app: GoogleApp) -> None:
        blog.show("b", "a", title="Blog")
        url = blog.server.url(blog.path)
        status, text = app.post("subscription/quickadd", quickadd=f"feed/{url}")
        feed = Feed.objects.get()
        assert (status, feed.for_letters) == (200, False)
        assert text == (
            f'{{"numResults": 1, "query": "{url}", "streamId": "feed/{feed.pk}", "streamName": "Blog"}}'
        )
        assert app.labels() == {url: ["Home"]}
        assert app.post("subscription/quickadd", quickadd=url)[1] == text.replace("feed/feed", "feed")

    def test_what_is_no_feed_is_told_as_apps_expect(self, app: GoogleApp, loopback_allowed: None) -> None:
        for url in ("http://127.0.0.1:9/", "mailto:x", "nonsense"):
            status, text = app.post("subscription/quickadd", quickadd=url)
            assert (status, '"numResults": 0' in text, '"error": "' in text) == (200, True, True), url
        assert app.post("subscription/quickadd")[0] == 400

    def test_subscribing_names_a_folder_that_is_made(self, blog: Blog, app: GoogleApp) -> None:
        blog.show("a")
        url = blog.server.url(blog.path)
        edit(app, "subscribe", url, a=label("Bücher / Meer"))
        assert app.labels() == {url: ["Bücher / Meer"]}
        assert app.post("subscription/edit", ac="subscribe", s="feed/mailto:x")[0] == 400

    def test_whoever_looks_without_end_has_to_wait(
        self, app: GoogleApp, monkeypatch: pytest.MonkeyPatch, loopback_allowed: None
    ) -> None:
        monkeypatch.setattr("reader.channels.follows.LOOKS", Limit("reader-looks", 1))
        statuses = [app.post("subscription/quickadd", quickadd="http://127.0.0.1:9/")[0] for _ in range(4)]
        assert (statuses[0], 429 in statuses) == (200, True)

    @pytest.mark.parametrize("call", ["subscription/edit", "subscription/quickadd"])
    def test_the_key_of_a_followed_feed_is_no_address(
        self, app: GoogleApp, feed: Feed, ada: Reader, call: str
    ) -> None:
        for key, status in ((feed.pk, 200), (FeedFactory().pk, 404), ("9" * 30, 404)):
            given = {"ac": "subscribe", "s": f"feed/{key}"} if call.endswith("edit") else {}
            assert app.post(call, quickadd=f"feed/{key}", **given)[0] == status, key
        assert Follow.objects.get(channel__reader=ada).feed == feed

    def test_unsubscribing_ends_it_in_all_folders(
        self, app: GoogleApp, feed: Feed, post: Post, channel: Channels
    ) -> None:
        channel("Sea").follows.create(feed=feed)
        Feed.objects.update(read_by=2)
        post()
        edit(app, "edit", feed, t="My boats")
        (listed,) = [
            one for one in app.ask("subscription/list")["subscriptions"] if one["id"].endswith(f"/{feed.pk}")
        ]
        assert listed["title"] == "My boats"
        edit(app, "unsubscribe", feed)
        assert app.labels() == {}
        assert app.ids() == app.ids(xt=READ) == []
        feed.refresh_from_db()
        assert feed.read_by == 0
        assert app.post("subscription/edit", ac="unsubscribe", s=f"feed/{feed.pk}")[0] == 404


class TestFolders:
    def test_a_new_folder_alone_or_with_the_old_one_moves_the_feed_and_its_posts(
        self, app: GoogleApp, feed: Feed, post: Post
    ) -> None:
        unread, read = post(), post(is_unread=False, at=minutes(1))
        edit(app, "edit", feed, a=label("Sea"), t="Blog")
        assert app.labels() == {feed.url: ["Sea"]}
        assert app.ids(label("Sea")) == [read.entry_id, unread.entry_id]
        assert app.ids(label("Sea"), xt=READ) == [unread.entry_id]
        assert app.ids(label("Home")) == []
        edit(app, "edit", feed, a=label("Home"), r=label("Sea"))
        assert app.labels() == {feed.url: ["Home"]}
        assert app.ids(label("Home")) == [read.entry_id, unread.entry_id]
        assert Unread.objects.get().channel == Follow.objects.get().channel

    def test_one_of_two_folders_is_left_and_no_post_is_lost(
        self, app: GoogleApp, feed: Feed, post: Post, channel: Channels
    ) -> None:
        channel("Sea").follows.create(feed=feed)
        both, only = post(), post(at=minutes(1))
        post(channel("Sea"), entry=both.entry)
        edit(app, "edit", feed, r=label("Home"))
        assert app.labels() == {feed.url: ["Sea"]}
        assert app.ids() == app.ids(label("Sea")) == [only.entry_id, both.entry_id]
        edit(app, "edit", feed, a=label("Home"))
        assert app.ids() == app.ids(label("Home")) == [only.entry_id, both.entry_id]

    def test_a_feed_in_several_folders_gets_one_more(
        self, app: GoogleApp, feed: Feed, channel: Channels
    ) -> None:
        channel("Sea").follows.create(feed=feed)
        edit(app, "edit", feed, a=label("Land"))
        assert sorted(app.labels()[feed.url]) == ["Home", "Land", "Sea"]
        edit(app, "edit", feed, a=label("Land"))
        edit(app, "edit", feed)
        assert len(app.labels()[feed.url]) == 3

    def test_a_feed_of_no_folder_is_in_the_first(self, app: GoogleApp, feed: Feed, channel: Channels) -> None:
        edit(app, "edit", feed, a=label("Sea"))
        edit(app, "edit", feed, r=label("Sea"))
        assert app.labels() == {feed.url: ["Home"]}
        edit(app, "edit", feed, r=label("Home"))
        assert app.labels() == {feed.url: ["Home"]}

    def test_who_is_muted_in_the_new_folder_is_hidden_there(
        self, app: GoogleApp, ada: Reader, home: Channel, feed: Feed, channel: Channels
    ) -> None:
        author = "https://loud.example/"
        put(home, an_entry(feed=feed, author=author))
        put(channel("Sea"), an_entry(feed=FeedFactory()))
        mute(reader=ada, channel=channel("Sea"), url=author, now=NOW)
        edit(app, "edit", feed, a=label("Sea"))
        assert (
            TimelineEntry.objects.get(feed=feed, channel=channel("Sea")).hidden == TimelineEntry.Hidden.MUTED
        )
        assert app.ids() == []

    def test_who_is_muted_in_the_old_folder_comes_back_there(
        self, app: GoogleApp, ada: Reader, home: Channel, feed: Feed
    ) -> None:
        author = "https://loud.example/"
        place = put(home, an_entry(feed=feed, author=author))
        mute(reader=ada, channel=home, url=author, now=NOW)
        edit(app, "edit", feed, a=label("Sea"))
        place.refresh_from_db()
        assert (place.channel, place.hidden) == (home, TimelineEntry.Hidden.MUTED)

    @pytest.mark.parametrize(
        ("given", "status"),
        [
            ({}, 400),
            ({"ac": "nonsense", "s": "feed/1"}, 400),
            ({"ac": "edit"}, 400),
            ({"ac": "edit", "s": label("Home")}, 400),
            ({"ac": "edit", "s": "feed/999", "a": label("X")}, 404),
            ({"ac": "edit", "s": "feed/https://unknown.example/", "a": label("X")}, 404),
        ],
    )
    def test_what_is_not_there_is_refused(
        self, app: GoogleApp, feed: Feed, given: dict[str, str], status: int
    ) -> None:
        assert app.post("subscription/edit", **given)[0] == status

    def test_nothing_goes_into_the_notifications(self, app: GoogleApp, feed: Feed) -> None:
        assert (
            app.post("subscription/edit", ac="edit", s=f"feed/{feed.pk}", a=label("Notifications"))[0] == 400
        )
        assert app.labels() == {feed.url: ["Home"]}

    def test_a_folder_is_renamed(self, app: GoogleApp, home: Channel, channel: Channels) -> None:
        channel("Sea")
        app.do("rename-tag", s=label("Home"), dest=label("Friends / Family"), T="x")
        home.refresh_from_db()
        assert (home.name, home.uid) == ("Friends / Family", "home")
        for given, status in (
            ({"s": label("Home"), "dest": label("X")}, 404),
            ({"s": label("Notifications"), "dest": label("X")}, 404),
            ({"s": label("Sea"), "dest": label("Friends / Family")}, 400),
            ({"s": label("Sea"), "dest": label("x" * 101)}, 400),
            ({"s": label("Sea")}, 400),
            ({"dest": label("X")}, 400),
        ):
            assert app.post("rename-tag", **given)[0] == status, given

    def test_a_folder_ends_and_its_feeds_and_posts_go_into_the_first(
        self, app: GoogleApp, feed: Feed, post: Post, channel: Channels
    ) -> None:
        place = post()
        left = put(channel("Sea"), an_entry(feed=FeedFactory()))
        edit(app, "edit", feed, a=label("Sea"))
        app.do("disable-tag", s=label("Sea"), T="x")
        assert app.labels() == {feed.url: ["Home"]}
        assert app.ids(label("Home"), xt=READ) == [place.entry_id]
        left.refresh_from_db()
        assert left.channel.name == "Home"
        for stream, status in ((label("Sea"), 404), (STARRED, 400)):
            assert app.post("disable-tag", s=stream)[0] == status

    def test_the_first_folder_may_end_too_and_the_last_becomes_a_new_one(
        self, app: GoogleApp, feed: Feed, channel: Channels
    ) -> None:
        channel("Sea")
        app.do("disable-tag", s=label("Home"))
        assert app.labels() == {feed.url: ["Sea"]}
        app.do("disable-tag", s=label("Sea"))
        assert app.labels() == {feed.url: ["Home"]}
        assert app.post("disable-tag", s=label("Home"))[0] == 400


def test_posts_of_a_feed_that_is_read_for_the_first_time_are_found_by_what_came_since(
    blog: Blog, app: GoogleApp
) -> None:
    """All of them are older than the app's last request."""
    blog.show("b", "a")
    blog.watch()
    edit(app, "subscribe", blog.feed.url)
    asked = int(utcnow().timestamp())
    blog.read(0)
    place_due()
    assert len(app.ids(ot=asked)) == 2
    assert all(place.at.timestamp() < asked - 3_600 for place in TimelineEntry.objects.all())
