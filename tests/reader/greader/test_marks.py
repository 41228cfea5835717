"""Read, unread and starred, by post ids and by whole streams.

Posts for apps: required fields are always present, in the required type.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings

from feeds.models import Feed
from reader.media.pictures import media_path
from reader.models import Channel, Reader, Star, TimelineEntry, Unread
from reader.rules.google_names import post_name
from reader.timelines.stars import star
from tests.factories import NOW, FeedFactory
from tests.reader.greader.client import READ, READING_LIST, STARRED, GoogleApp, label
from tests.reader.posts import an_entry, minutes, put

pytestmark = pytest.mark.django_db
Post = Callable[..., TimelineEntry]
KEPT, TRACKED = "user/-/state/com.google/kept-unread", "user/-/state/com.google/tracking-kept-unread"


def unread() -> set[int]:
    return set(Unread.objects.values_list("place__entry", flat=True))


def usec(minute: float) -> int:
    return int(minutes(minute).timestamp() * 1_000_000)


class TestPosts:
    @pytest.mark.parametrize("name", ["nonsense", "0", "9" * 19, "tag:google.com,2005:reader/item/xyz"])
    def test_an_id_that_cannot_be_read_refuses_the_whole_call(
        self, app: GoogleApp, post: Post, name: str
    ) -> None:
        known = post()
        before = unread()
        for ids in ([name], [known.entry_id, name]):
            assert app.post("edit-tag", i=ids, a=READ, r=STARRED)[0] == 400, ids
        assert unread() == before

    @pytest.mark.parametrize(
        ("given", "is_read"),
        [
            ({"a": READ}, True),
            ({"r": READ}, False),
            ({"a": KEPT}, False),
            ({"r": KEPT}, True),
            ({"a": READ, "r": KEPT, "ac": "edit"}, True),
            ({"r": READ, "a": [KEPT, TRACKED], "ac": "edit"}, False),
        ],
    )
    def test_kept_unread_is_the_opposite_of_read(
        self, app: GoogleApp, post: Post, given: dict[str, object], is_read: bool
    ) -> None:
        read, fresh, other = post(is_unread=False), post(), post()
        app.do("edit-tag", i=[post_name(read.entry_id), fresh.entry_id, "999999"], **given)
        assert unread() == ({other.entry_id} if is_read else {p.entry_id for p in (read, fresh, other)})

    def test_stars_come_and_go(self, app: GoogleApp, post: Post) -> None:
        places = [post() for _ in range(3)]
        names = [place.entry_id for place in places]
        app.do("edit-tag", i=names, a=STARRED)
        app.do("edit-tag", i=names, a=STARRED)
        assert Star.objects.count() == 3
        app.do("edit-tag", i=names[:2], r=STARRED)
        assert app.ids(STARRED) == names[2:]

    @pytest.mark.parametrize(
        "other", [{"a": [STARRED, label("Keep")]}, {"a": [STARRED, READ, "?"], "r": READ}]
    )
    def test_a_change_that_cannot_be_made_does_not_undo_the_others(
        self, app: GoogleApp, post: Post, other: dict[str, object]
    ) -> None:
        place = post()
        app.do("edit-tag", i=place.entry_id, **other)
        assert app.ids(STARRED) == [place.entry_id]
        assert unread() == {place.entry_id}

    def test_all_in_one(self, app: GoogleApp, post: Post) -> None:
        place = post()
        app.do("edit-tag", i=place.entry_id, a=[STARRED, READ], T="x")
        (item,) = app.contents(place.entry_id)
        assert {READ, STARRED} <= set(item["categories"])

    def test_what_is_only_starred_is_not_made_unread(self, app: GoogleApp, post: Post) -> None:
        place = post(is_unread=False)
        app.do("edit-tag", i=place.entry_id, a=STARRED)
        place.delete()
        app.do("edit-tag", i=place.entry_id, r=READ)
        assert app.ids(STARRED, xt=READ) == []

    @pytest.mark.parametrize("tag", ["like", "broadcast", "fresh"])
    def test_what_is_nothing_here_changes_nothing(self, app: GoogleApp, post: Post, tag: str) -> None:
        app.do("edit-tag", i=post().entry_id, a=f"user/-/state/com.google/{tag}")
        assert len(unread()) == 1

    @pytest.mark.parametrize(
        "given", [{"a": READ}, {"i": 1, "a": READ, "r": READ}, {"i": 1, "a": label("X")}, {"i": 1, "a": "?"}]
    )
    def test_what_makes_no_sense_is_refused(self, app: GoogleApp, given: dict[str, object]) -> None:
        assert app.post("edit-tag", **given)[0] == 400

    def test_a_thousand_at_once_and_not_one_more(self, app: GoogleApp) -> None:
        app.do("edit-tag", i=range(1, 1_001), a=READ, r=KEPT, T="x" * 57)
        assert app.post("edit-tag", i=range(1, 1_002), a=READ)[0] == 400


class TestStreams:
    def test_a_stream_is_marked_and_no_other(
        self, app: GoogleApp, home: Channel, post: Post, feed: Feed, channel: Callable[[str], Channel]
    ) -> None:
        other = FeedFactory()
        for one in (home, channel("Sea")):
            one.follows.create(feed=other)
        first, second = post(), put(home, an_entry(feed=other))
        third = put(channel("Sea"), an_entry(feed=other))
        app.do("mark-all-as-read", s=f"feed/{feed.pk}", T="")
        assert unread() == {second.entry_id, third.entry_id}, first
        app.do("mark-all-as-read", s=label("Sea"))
        assert unread() == {second.entry_id}
        app.do("mark-all-as-read", s=READING_LIST)
        assert unread() == set()

    @pytest.mark.parametrize("ts", [usec(5), int(minutes(5).timestamp()), usec(5) // 1_000, usec(5) * 1_000])
    def test_what_came_later_stays_unread(self, app: GoogleApp, post: Post, ts: int) -> None:
        post(at=minutes(1))
        post(at=minutes(5))
        later, old = post(at=minutes(6)), post(at=minutes(-9_000), came_at=minutes(6))
        app.do("mark-all-as-read", s=READING_LIST, ts=ts)
        assert unread() == {later.entry_id, old.entry_id}

    def test_a_post_is_read_in_all_its_folders(
        self, app: GoogleApp, post: Post, channel: Callable[[str], Channel]
    ) -> None:
        place = post()
        post(channel("Sea"), entry=place.entry)
        app.do("mark-all-as-read", s=label("Sea"), ts=0)
        assert unread() == set()

    def test_what_apps_do_not_see_is_not_marked(self, app: GoogleApp, ada: Reader, post: Post) -> None:
        post()
        told = put(ada.channels.get(is_notifications=True))
        app.do("mark-all-as-read", s=READING_LIST)
        assert unread() == {told.entry_id}

    @pytest.mark.parametrize(
        ("given", "status"),
        [
            ({}, 400),
            ({"s": "?"}, 400),
            ({"s": "feed/999"}, 404),
            ({"s": label("Nowhere")}, 404),
            ({"s": READING_LIST, "ts": "x"}, 400),
        ],
    )
    def test_what_is_not_there_is_refused(
        self, app: GoogleApp, post: Post, given: dict[str, str], status: int
    ) -> None:
        post()
        assert app.post("mark-all-as-read", **given)[0] == status
        assert len(unread()) == 1


class TestCounts:
    def test_a_post_counts_once_in_all_and_once_in_each_folder(
        self, app: GoogleApp, post: Post, feed: Feed, channel: Callable[[str], Channel]
    ) -> None:
        place = post()
        post(at=minutes(2), is_unread=False)
        post(channel("Sea"), entry=place.entry, at=minutes(1), is_unread=False)
        assert app.ask("unread-count") == {
            "max": 1,
            "unreadcounts": [
                {"id": f"feed/{feed.pk}", "count": 1, "newestItemTimestampUsec": str(usec(0))},
                {"id": label("Home"), "count": 1, "newestItemTimestampUsec": str(usec(0))},
                {"id": label("Sea"), "count": 1, "newestItemTimestampUsec": str(usec(0))},
                {"id": READING_LIST, "count": 1, "newestItemTimestampUsec": str(usec(0))},
            ],
        }

    def test_nothing_is_nothing(self, app: GoogleApp) -> None:
        assert app.ask("unread-count") == {"max": 0, "unreadcounts": []}

    def test_it_is_the_length_of_the_list(
        self, app: GoogleApp, post: Post, channel: Callable[[str], Channel]
    ) -> None:
        for number in range(12):
            place = post(is_unread=number % 2 == 0)
            if number % 3:
                post(channel("Sea"), entry=place.entry, is_unread=number % 4 == 0)
        for one in app.ask("unread-count")["unreadcounts"]:
            assert one["count"] == len(app.ids(one["id"], xt=READ)), one


@pytest.fixture
def shown(app: GoogleApp, post: Post) -> Callable[..., dict[str, Any]]:
    """Return a function from jf2 to the post in the API."""

    def one(**jf2: Any) -> dict[str, Any]:
        (item,) = app.contents(post(jf2=jf2).entry_id)
        return item

    return one


def test_a_whole_post(app: GoogleApp, ada: Reader, post: Post, feed: Feed) -> None:
    Feed.objects.update(site_url="https://blog.example/")
    jf2 = {
        "url": "https://blog.example/1",
        "name": "Tide <3",
        "content": {"html": "<p>High &amp; low</p>", "text": "High & low"},
        "author": {"name": "Ada", "url": "https://ada.example/"},
        "audio": ["https://blog.example/a.ogg", "https://blog.example/play?id=1"],
    }
    place = post(jf2=jf2, published=minutes(-60), came_at=minutes(1), is_unread=False)
    star(reader=ada, entries=[place.entry_id], now=NOW)
    came = int(minutes(1).timestamp() * 1_000_000)
    assert app.contents(place.entry_id) == [
        {
            "id": post_name(place.entry_id),
            "crawlTimeMsec": str(came // 1_000),
            "timestampUsec": str(came),
            "published": int(minutes(-60).timestamp()),
            "updated": int(minutes(-60).timestamp()),
            "title": "Tide <3",
            "canonical": [{"href": "https://blog.example/1"}],
            "alternate": [{"href": "https://blog.example/1", "type": "text/html"}],
            "summary": {"content": "<p>High &amp; low</p>"},
            "author": "Ada",
            "categories": [READING_LIST, READ, STARRED, label("Home")],
            "origin": {"streamId": f"feed/{feed.pk}", "title": "Blog", "htmlUrl": "https://blog.example/"},
            "enclosure": [
                {"href": "https://blog.example/a.ogg", "type": "audio/ogg"},
                {"href": "https://blog.example/play?id=1", "type": "audio/mpeg"},
            ],
        }
    ]


def test_what_a_post_lacks_is_empty_and_not_missing(shown: Callable[..., dict[str, Any]], feed: Feed) -> None:
    item = shown()
    assert (item["title"], item["summary"]) == ("", {"content": ""})
    assert item["canonical"] == [{"href": feed.site_url}]
    assert item["published"] == int(NOW.timestamp())
    assert not {"author", "enclosure"} & item.keys()


def test_a_post_without_title_has_its_first_words_as_title(shown: Callable[..., dict[str, Any]]) -> None:
    assert shown(content={"html": "<p>High &amp; low</p>"})["title"] == "High & low"
    assert len(shown(content={"html": f"<p>{'tide ' * 100}</p>"})["title"]) <= 80


def test_a_text_without_html_is_escaped(shown: Callable[..., dict[str, Any]]) -> None:
    assert shown(content={"text": "a < b"})["summary"]["content"] == "a &lt; b"


def test_pictures_beside_the_text_are_shown_once(shown: Callable[..., dict[str, Any]]) -> None:
    inside, beside = "https://e.example/in.png", "https://e.example/be.png?a=1&b=%22"
    item = shown(content={"html": f'<img src="{inside}">'}, photo=[inside, beside])
    assert item["summary"]["content"] == (
        f'<img src="{settings.SITE_URL}{media_path(inside)}" alt="">'
        f'<p><img src="{settings.SITE_URL}{media_path(beside)}" alt=""></p>'
    )
    assert [one["type"] for one in item["enclosure"]] == ["image/png", "image/png"]


def test_a_post_of_an_address_alone_leads_there(shown: Callable[..., dict[str, Any]]) -> None:
    liked = "https://e.example/?a=1&b=2"
    assert shown(**{"like-of": [liked]})["summary"]["content"].count("https://e.example/?a=1&amp;b=2") == 2


def test_a_starred_post_without_place_or_feed_has_all_that_apps_insist_on(
    app: GoogleApp, ada: Reader, home: Channel
) -> None:
    place = put(home, an_entry(jf2={"author": {"name": "Eve"}}))
    star(reader=ada, entries=[place.entry_id], now=NOW)
    place.delete()
    assert Star.objects.count() == 1
    (item,) = app.contents(place.entry_id)
    assert item["origin"] == {"streamId": "feed/0", "title": "Eve", "htmlUrl": ""}
    assert item["categories"] == [READING_LIST, READ, STARRED]
    assert item["canonical"] == [{"href": ""}]
