"""Streams: their posts, order and pages."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from feeds.models import Feed
from reader.models import Channel, Reader, Star, TimelineEntry, Unread
from reader.rules.google_names import post_name
from reader.timelines.stars import star
from tests.factories import NOW, FeedFactory
from tests.reader.greader.client import READ, READING_LIST, STARRED, UNREAD, GoogleApp, label, stream_path
from tests.reader.posts import an_entry, minutes, put

pytestmark = pytest.mark.django_db
Post = Callable[..., TimelineEntry]
Channels = Callable[[str], Channel]
EVENTS = st.lists(
    st.tuples(st.sampled_from(["arrive", "read", "unread", "hide"]), st.integers(0, 40)), max_size=3
)


def seconds(minute: float) -> int:
    return int(minutes(minute).timestamp())


def keys(*places: TimelineEntry) -> list[int]:
    return [place.entry_id for place in places]


class TestWhichPosts:
    def test_each_stream_has_its_own(self, app: GoogleApp, ada: Reader, post: Post, feed: Feed) -> None:
        read, unread = post(is_unread=False), post(at=minutes(1))
        star(reader=ada, entries=[read.entry_id], now=NOW)
        for stream, found in {
            READING_LIST: [unread, read],
            READ: [read],
            UNREAD: [unread],
            STARRED: [read],
            label("Home"): [unread, read],
            f"feed/{feed.pk}": [unread, read],
            f"feed/{feed.url}": [unread, read],
            "user/1005921515/state/com.google/reading-list": [unread, read],
            "user/-/state/com.google/broadcast": [],
            label("Nowhere"): [],
            "feed/999999": [],
        }.items():
            assert app.ids(stream) == keys(*found), stream

    def test_what_is_asked_for_and_left_out_goes_by_state_folder_and_feed(
        self, app: GoogleApp, ada: Reader, post: Post, feed: Feed, channel: Channels
    ) -> None:
        other = FeedFactory()
        channel("Sea").follows.create(feed=other)
        read, unread = post(is_unread=False), post(at=minutes(1))
        at_sea = put(channel("Sea"), an_entry(feed=other), at=minutes(2))
        star(reader=ada, entries=[unread.entry_id, at_sea.entry_id], now=NOW)
        asked: list[tuple[dict[str, Any], list[TimelineEntry]]] = [
            ({"xt": READ}, [at_sea, unread]),
            ({"it": READ}, [read]),
            ({"it": STARRED}, [at_sea, unread]),
            ({"xt": STARRED}, [read]),
            ({"xt": [READ, label("Sea")]}, [unread]),
            ({"it": [STARRED, label("Sea")]}, [at_sea]),
            ({"xt": f"feed/{feed.pk}"}, [at_sea]),
            ({"xt": [label("Nowhere"), "feed/999999"]}, [at_sea, unread, read]),
            ({"it": label("Nowhere")}, []),
            ({"s": STARRED, "xt": READ, "it": f"feed/{feed.pk}"}, [unread]),
            ({"s": label("Sea"), "xt": READ}, [at_sea]),
            ({"s": f"feed/{feed.pk}", "xt": READ}, [unread]),
        ]
        for wanted, found in asked:
            stream = wanted.pop("s", READING_LIST)
            assert app.ids(stream, **wanted) == keys(*found), wanted

    def test_a_post_in_two_folders_is_one_and_unread_while_it_is_so_in_one(
        self, app: GoogleApp, post: Post, channel: Channels
    ) -> None:
        here = post()
        there = post(channel("Sea"), entry=here.entry, at=minutes(1), is_unread=False)
        for stream in (READING_LIST, label("Home"), label("Sea")):
            assert app.ids(stream) == app.ids(stream, xt=READ) == keys(here), stream
            assert app.ids(stream, it=READ) == []
        (item,) = app.contents(here.entry_id)
        assert {label("Home"), label("Sea")} <= set(item["categories"])
        assert READ not in item["categories"]
        app.do("edit-tag", i=here.entry_id, a=READ)
        assert app.ids(xt=READ) == []
        app.do("edit-tag", i=here.entry_id, r=READ)
        assert set(Unread.objects.values_list("place_id", flat=True)) == {here.pk, there.pk}

    def test_what_is_hidden_and_what_nobody_follows_is_not_there(
        self, app: GoogleApp, ada: Reader, home: Channel, post: Post
    ) -> None:
        shown, hidden, left = post(), post(), put(home, an_entry(feed=FeedFactory()))
        put(ada.channels.get(is_notifications=True))
        TimelineEntry.objects.filter(pk=hidden.pk).update(hidden=TimelineEntry.Hidden.MUTED)
        assert app.ids() == keys(shown)
        star(reader=ada, entries=[left.entry_id], now=NOW)
        assert app.ids(STARRED) == keys(left), "what is starred is kept"


class TestOrder:
    def test_all_posts_go_by_when_they_came_whatever_their_dates(self, app: GoogleApp, post: Post) -> None:
        first, old, last = (
            post(at=minutes(1)),
            post(at=minutes(-900), came_at=minutes(2)),
            post(at=minutes(3)),
        )
        assert app.ids() == keys(last, old, first)
        assert app.ids(r="o") == keys(first, old, last)
        assert app.ids(n=1, r="o") == keys(first, old, last)

    def test_a_late_post_of_an_old_date_is_found_by_what_came_since(self, app: GoogleApp, post: Post) -> None:
        known = post(at=minutes(-10))
        late = post(at=minutes(-100_000), came_at=minutes(5), published=minutes(-100_000))
        assert app.ids(ot=seconds(4)) == keys(late)
        assert app.ids(ot=seconds(-10), nt=seconds(0)) == keys(known)
        assert app.ids(ot=seconds(7), xt=READ) == []
        assert app.ids(ot=seconds(4), xt=READ) == keys(late)

    def test_an_app_that_asked_a_moment_ago_by_its_own_clock_misses_nothing(
        self, app: GoogleApp, post: Post
    ) -> None:
        place = post(at=NOW)
        assert app.ids(ot=int((NOW + timedelta(seconds=30)).timestamp())) == keys(place)

    @pytest.mark.parametrize("name", ["ot", "nt"])
    @pytest.mark.parametrize("value", ["x", "-1", "1" * 19, "9" * 18])
    def test_a_moment_that_is_none_is_refused(self, app: GoogleApp, name: str, value: str) -> None:
        assert app.get("stream/items/ids", s=READING_LIST, **{name: value})[0] == 400
        assert app.get("stream/items/ids", s=READING_LIST, **{name: 0})[0] == 200

    @pytest.mark.parametrize(("n", "found"), [("1", 1), ("0", 1), ("-5", 1), ("x", 20), ("99999999999", 25)])
    def test_how_many_come_is_bounded(self, app: GoogleApp, post: Post, n: str, found: int) -> None:
        for number in range(25):
            post(at=minutes(number))
        assert len(app.ask("stream/items/ids", s=READING_LIST, n=n)["itemRefs"]) == found
        assert len(app.ask("stream/contents", n=n)["items"]) == found

    def test_a_continuation_that_is_none_is_refused(self, app: GoogleApp) -> None:
        assert app.get("stream/items/ids", s=READING_LIST, c="nonsense")[0] == 400

    def test_the_end_has_no_continuation(self, app: GoogleApp, post: Post) -> None:
        for number in range(4):
            post(at=minutes(number))
        page = app.ask("stream/items/ids", s=READING_LIST, n=2)
        page = app.ask("stream/items/ids", s=READING_LIST, n=2, c=page["continuation"])
        assert len(page["itemRefs"]) == 2
        assert "continuation" not in page
        assert app.ask("stream/items/ids", s=STARRED) == {"itemRefs": []}


class TestContents:
    def test_a_stream_is_named_in_the_address_or_by_s_or_is_all(
        self, app: GoogleApp, post: Post, feed: Feed
    ) -> None:
        place = post()
        for call in (
            "stream/contents",
            "stream/contents/",
            stream_path(READING_LIST),
            f"stream/contents/{READING_LIST}",
            "stream/contents/reading-list",
            stream_path(f"feed/{feed.pk}"),
            stream_path(f"feed/{feed.url}"),
            stream_path(label("Home")),
        ):
            (item,) = app.ask(call)["items"]
            assert item["id"] == post_name(place.entry_id), call
        assert app.ask("stream/contents", s=STARRED)["items"] == []

    def test_pages_have_each_post_once(self, app: GoogleApp, post: Post) -> None:
        places = [post(at=minutes(number // 3)) for number in range(10)]
        found: list[str] = []
        more: dict[str, str] = {}
        while True:
            page = app.ask("stream/contents", n=3, **more)
            found += [item["id"] for item in page["items"]]
            if "continuation" not in page:
                break
            more = {"c": page["continuation"]}
        assert found == [post_name(place.entry_id) for place in reversed(places)]

    def test_what_is_too_large_together_comes_with_the_next_page(
        self, app: GoogleApp, post: Post, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("reader.greader.posts.MOST_CHARACTERS", 25)
        places = [post(at=minutes(number), jf2={"content": {"html": "x" * 10}}) for number in range(5)]
        page = app.ask("stream/contents")
        assert len(page["items"]) == 2
        rest = app.ask("stream/contents", c=page["continuation"])
        assert [item["id"] for item in rest["items"]] == [
            post_name(key) for key in keys(places[2], places[1])
        ]
        assert len(app.contents(*keys(*places))) == 2
        monkeypatch.setattr("reader.greader.posts.MOST_CHARACTERS", 1)
        assert len(app.contents(*keys(*places))) == 1, "one comes in any case"

    def test_posts_come_in_the_order_in_which_they_are_named_each_once(
        self, app: GoogleApp, post: Post
    ) -> None:
        one, two = post(), post()
        names = [post_name(two.entry_id), str(one.entry_id), f"{two.entry_id:016x}", "nonsense", "999999"]
        status, text = app.post("stream/items/contents", i=names)
        assert status == 200
        assert [item["id"] for item in app.contents(*keys(two, one))] == [
            post_name(k) for k in keys(two, one)
        ]
        assert text.count('"crawlTimeMsec"') == 2


@pytest.mark.slow
def test_few_statements_answer_however_many_posts_there_are(
    app: GoogleApp, post: Post, channel: Channels
) -> None:
    entries = [post(at=minutes(number)).entry for number in range(250)]
    for entry in entries[:50]:
        post(channel("Sea"), entry=entry)
    Star.objects.bulk_create(Star(reader=app.password.reader, entry=entry) for entry in entries[:30])
    everything = [entry.pk for entry in entries]
    app.ids()

    def statements(ask: Callable[[], object]) -> int:
        with CaptureQueriesContext(connection) as told:
            ask()
        return len(told)

    # The first of each is for the password.
    assert statements(lambda: app.ids(n=1_000)) == 2
    assert statements(lambda: app.ids(n=1_000, xt=READ)) == 2
    assert statements(lambda: app.ids(STARRED, n=1_000)) == 2
    assert statements(lambda: app.contents(*everything)) == 4 + 3
    assert statements(lambda: app.ask("stream/contents", n=100)) == 6
    assert statements(lambda: app.ask("unread-count")) == 4
    assert statements(lambda: app.do("edit-tag", i=everything, a=READ)) <= 4


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    moments=st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), max_size=20),
    limit=st.integers(1, 6),
    between=st.lists(EVENTS, max_size=12),
    oldest_first=st.booleans(),
    unread_only=st.booleans(),
)
def test_whatever_happens_between_two_pages_each_post_that_stays_comes_once(
    app: GoogleApp,
    home: Channel,
    feed: Feed,
    channel: Channels,
    moments: list[tuple[int, bool, bool]],
    limit: int,
    between: list[list[tuple[str, int]]],
    oldest_first: bool,
    unread_only: bool,
) -> None:
    TimelineEntry.objects.all().delete()
    for moment, is_unread, is_double in moments:
        place = put(home, an_entry(feed=feed), at=minutes(moment), is_unread=is_unread)
        if is_double:
            put(channel("Sea"), place.entry, at=minutes(3 - moment), is_unread=is_unread)

    def there() -> set[int]:
        places = (
            TimelineEntry.objects.seen().filter(unread__isnull=False)
            if unread_only
            else TimelineEntry.objects.seen()
        )
        return set(places.values_list("entry_id", flat=True))

    stays, got, events = there(), [], iter(between)
    asked: dict[str, Any] = {
        "n": limit,
        **({"r": "o"} if oldest_first else {}),
        **({"xt": READ} if unread_only else {}),
    }
    for _ in range(60):
        page = app.ask("stream/items/ids", s=READING_LIST, **asked)
        got += [int(one["id"]) for one in page["itemRefs"]]
        if "continuation" not in page:
            break
        asked["c"] = page["continuation"]
        for what, number in next(events, []):
            happen(what, number, home, feed)
            stays &= there()
    assert stays <= set(got), "none is missing"
    assert len(got) == len(set(got)), "none comes twice"


def happen(what: str, number: int, home: Channel, feed: Feed) -> None:
    places = list(TimelineEntry.objects.seen().order_by("pk"))
    if what == "arrive":
        put(home, an_entry(feed=feed), at=minutes(10 + number))
    elif places:
        place = places[number % len(places)]
        same = TimelineEntry.objects.filter(entry=place.entry_id)
        if what in ("read", "hide"):
            Unread.objects.filter(place__in=same).delete()
        if what == "hide":
            same.update(hidden=TimelineEntry.Hidden.REMOVED)
        if what == "unread" and not Unread.objects.filter(place=place).exists():
            Unread.objects.create(place=place, channel=place.channel, reader=place.reader, at=place.at)
