"""Filters hide new and existing posts, report posts they cannot judge, and delete nothing.

A muted author disappears everywhere, and unmuting restores each post; blocking is permanent.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from feeds.models import Feed
from reader.channels.channels import add_channel
from reader.channels.filters import change_filters, mute, preview_filters, unmute
from reader.channels.follows import dissolve_channel, follow_feed
from reader.entries import filters as filters_at_work
from reader.entries.filters import ask_filters
from reader.entries.place import place_due, place_entry
from reader.entries.prune import prune_entries
from reader.models import Channel, Entry, Follow, Reader, TimelineEntry, Unread
from reader.rules.filters import Filters
from reader.rules.order import EPOCH, Key
from reader.streams.stream import Watch
from reader.timelines.marks import remove
from reader.timelines.pages import Timeline
from tests.factories import NOW, FeedFactory
from tests.feeds.watched import Blog, at
from tests.races import beside
from tests.reader.client import MicrosubClient
from tests.reader.posts import an_entry, minutes, put

MUTED_AUTHOR = "https://author.example/"
PAGES = (
    "/reader/",
    "/reader/?unread",
    "/reader/c/home/",
    "/reader/c/home/?unread",
    "/reader/search/?q=noise",
    "/reader/c/notifications/",
    "/reader/c/other/",
)
pytestmark = pytest.mark.django_db
AUTHOR = "https://ada.example.org/"


def a_post(name: str, **fields: Any) -> Entry:
    return an_entry(jf2={"type": "entry", "name": name, "published": NOW.isoformat()}, **fields)


def coming(feed: Feed, name: str, **fields: Any) -> Entry:
    """Return a post that its feed has just published."""
    entry = a_post(name, feed=feed, placed_at=None, **fields)
    Entry.objects.filter(pk=entry.pk).update(due_at=NOW)
    return entry


def filtered(channel: Channel, **given: Any) -> Channel:
    return change_filters(channel=channel, at_once=None, **given)


def names(channel: Channel) -> list[str]:
    places = TimelineEntry.objects.seen().filter(channel=channel).order_by("-at", "-pk")
    return [place.entry.jf2["name"] for place in places.select_related("entry") if place.entry.jf2]


@pytest.fixture
def feed(home: Channel) -> Feed:
    found: Feed = FeedFactory()
    Follow.objects.create(channel=home, feed=found)
    return found


def test_what_comes_in_is_hidden_where_a_filter_fits_and_nowhere_else(
    feed: Feed, home: Channel, bob: Reader, api: MicrosubClient
) -> None:
    Follow.objects.create(channel=bob.channels.get(uid="home"), feed=feed)
    filtered(home, hide=["sale"], kinds=["like"])
    for name, kind in (("Big sale", "article"), ("Tide", "article"), ("A heart", "like")):
        coming(feed, name, kind=kind)
    assert place_due(clock=lambda: NOW) == 3
    assert names(home) == ["Tide"]
    assert len(names(bob.channels.get(uid="home"))) == 3
    assert (api.names(), api.unread()) == (["Tide"], 1)
    assert api.ask("search", channel="home", query="post")["items"][0]["name"] == "Tide"


def test_a_change_hides_and_shows_what_stands_there_as_read_as_it_was(home: Channel) -> None:
    for number in range(6):
        put(
            home,
            a_post(f"Post {number} {'sea' if number % 2 else 'town'}"),
            at=minutes(number),
            is_unread=number < 3,
        )
    before, unread = names(home), set(Unread.objects.values_list("place", flat=True))
    filtered(home, hide=["sea"])
    assert names(home) == ["Post 4 town", "Post 2 town", "Post 0 town"]
    assert Unread.objects.count() == 2
    filtered(home, keep=["sea"])
    assert names(home) == ["Post 5 sea", "Post 3 sea", "Post 1 sea"]
    home = filtered(home)
    assert (names(home), set(Unread.objects.values_list("place", flat=True))) == (before, unread)
    home.refresh_from_db()
    assert (home.filters, home.ask_below) == (None, None)


def test_many_posts_are_asked_about_in_batches_and_by_a_worker(
    home: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters_at_work, "ASKED_TOGETHER", 4)
    for number in range(10):
        put(home, a_post(f"sea {number}"), at=minutes(number))
    change_filters(channel=home, hide=["sea"])
    assert len(names(home)) == 10
    assert ask_filters() == 10
    assert names(home) == []
    assert ask_filters() == 0


def test_a_post_that_comes_while_filters_change_is_asked_about_with_the_new_ones(
    feed: Feed, home: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    filtered(home, hide=["town"])
    entry = coming(feed, "The sea")
    asked = filters_at_work.asked_of_all(entry.pk)
    filtered(home, hide=["sea"])
    with monkeypatch.context() as patched:
        patched.setattr("reader.entries.place.asked_of_all", lambda _: asked)
        assert place_entry(entry_id=entry.pk, clock=lambda: NOW) is False
    assert not TimelineEntry.objects.exists()
    assert place_due(clock=lambda: NOW) == 1
    assert names(home) == []


def test_placing_and_changing_filters_at_once_leave_nothing_out(transactional_db: None, ada: Reader) -> None:
    home = ada.channels.get(uid="home")
    feed = FeedFactory()
    Follow.objects.create(channel=home, feed=feed)
    for number in range(5):
        coming(feed, f"{'sea' if number % 2 else 'town'} {number}")
    beside(
        lambda: place_due(clock=lambda: NOW),
        lambda: change_filters(channel=home, hide=["sea"], at_once=timedelta(seconds=5)),
    )
    place_due(clock=lambda: NOW)
    ask_filters()
    assert sorted(names(home)) == ["town 0", "town 2", "town 4"]
    assert TimelineEntry.objects.count() == 5


def test_a_term_that_takes_too_long_hides_nothing_and_is_told(
    home: Channel, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reader.rules.filters.check_pattern", lambda *_: None)
    filtered(home, hide=["/(x+x+)+y/"])
    coming(feed, "x" * 5_000)
    place_due(clock=lambda: NOW)
    assert len(names(home)) == 1
    home.refresh_from_db()
    assert home.filters_trouble == "/(x+x+)+y/"
    assert filtered(home, hide=["sea"]).filters_trouble == ""


def test_who_is_muted_stays_muted_whatever_filters_say(ada: Reader, home: Channel) -> None:
    put(home, a_post("sea", author=AUTHOR))
    put(home, a_post("town", author=AUTHOR), at=minutes(1))
    filtered(home, hide=["sea"])
    mute(reader=ada, channel=None, url=AUTHOR, now=NOW)
    filtered(home)
    assert names(home) == []
    home = filtered(home, hide=["town"])
    unmute(reader=ada, channel=None, url=AUTHOR)
    assert names(home) == []
    ask_filters()
    assert names(home) == ["sea"]


def test_who_is_blocked_does_not_come_back_by_a_filter(ada: Reader, home: Channel) -> None:
    put(home, a_post("sea", author=AUTHOR))
    filtered(home, hide=["sea"])
    mute(reader=ada, channel=None, url=AUTHOR, now=NOW, is_block=True)
    unmute(reader=ada, channel=None, url=AUTHOR, is_block=True)
    filtered(home)
    assert names(home) == []


def test_what_was_removed_or_taken_back_is_not_shown_by_a_filter(
    ada: Reader, home: Channel, feed: Feed
) -> None:
    removed, withdrawn = put(home, a_post("sea 1")), put(home, a_post("sea 2", feed=feed))
    filtered(home, hide=["sea"])
    filtered(home)
    remove(Timeline(ada, home), [removed.pk])
    filtered(home, hide=["sea"])
    Entry.objects.filter(pk=withdrawn.entry_id).update(withdrawn_at=NOW, due_at=NOW)
    place_due(clock=lambda: NOW)
    filtered(home)
    assert names(home) == []
    Entry.objects.filter(pk=withdrawn.entry_id).update(withdrawn_at=None, due_at=NOW)
    place_due(clock=lambda: NOW)
    assert names(home) == ["sea 2"]


def test_a_feed_that_is_followed_newly_is_filtered_too(blog: Blog, home: Channel) -> None:
    blog.show("c", "b", "a")
    blog.watch()
    blog.read(0)
    filtered(home, hide=["post b"])
    follow_feed(channel=home, feed=blog.feed, clock=lambda: at(1))
    assert len(names(home)) == 2
    assert "Post b" not in names(home)
    filtered(home)
    assert "Post b" in names(home)


def test_posts_that_move_to_another_channel_are_judged_by_its_filters(ada: Reader, home: Channel) -> None:
    news, boats = add_channel(reader=ada, name="News"), add_channel(reader=ada, name="Boats")
    for name in ("sea", "town"):
        put(news, a_post(name))
    filtered(news, hide=["sea"])
    dissolve_channel(channel=news, into=home, now=NOW)
    assert sorted(names(home)) == ["sea", "town"]
    filtered(boats, hide=["town"])
    dissolve_channel(channel=home, into=boats, now=NOW)
    ask_filters()
    assert names(boats) == ["sea"]


def test_filtered_posts_are_forgotten_when_their_time_comes(home: Channel) -> None:
    put(home, a_post("sea", seen_at=minutes(-1)), is_unread=False)
    filtered(home, hide=["sea"])
    prune_entries(now=NOW + timedelta(days=2))
    assert Entry.objects.get().jf2 is not None
    prune_entries(now=NOW + timedelta(days=61))
    assert not TimelineEntry.objects.exists()


def test_a_look_at_filters_changes_nothing(home: Channel) -> None:
    put(home, a_post("sea"))
    put(home, a_post("town"), at=minutes(1))
    filtered(home, hide=["town"])
    looked = preview_filters(home, Filters(hide=("sea",)))
    found = [((place.entry.jf2 or {})["name"], verdict.field) for place, verdict in looked]
    assert found == [("town", ""), ("sea", "hide")]
    assert names(home) == ["sea"]


@pytest.fixture
def noise(ada: Reader, home: Channel, channel: Callable[[str], Channel]) -> list[str]:
    """Create an author's posts, read and unread, in each channel, and one post by somebody else."""
    feed = FeedFactory(title="Blog")
    Follow.objects.create(channel=home, feed=feed)
    written = []
    for place, where in enumerate([home, home, channel("other"), ada.channels.get(uid="notifications")]):
        jf2 = {"type": "entry", "name": f"Noise {place}", "author": {"url": MUTED_AUTHOR}}
        entry = an_entry(feed=feed, author=MUTED_AUTHOR, jf2=jf2, text="noise")
        put(where, entry, at=minutes(place), is_unread=place != 1)
        written.append(f"Noise {place}")
    put(home, an_entry(jf2={"type": "entry", "name": "Music"}, text="music"), at=minutes(9))
    return written


def everywhere(ada: Reader, browser: Client) -> dict[str, Any]:
    """Return the posts at each place where posts are shown or counted."""
    api = MicrosubClient(ada, scopes=["read"])
    seen: dict[str, Any] = {address: posts_of(browser, address) for address in PAGES}
    for channel in ("home", "other", "notifications", "global"):
        seen[f"timeline {channel}"] = api.ask("timeline", channel=channel)
        seen[f"unread {channel}"] = api.ask("timeline", channel=channel, is_read="false")
        seen[f"search {channel}"] = api.ask("search", channel=channel, query="noise")
    seen["channels"] = api.ask("channels", method="tree")
    seen["news"] = browser.get("/reader/news/", {"since": str(Key(EPOCH, 0))}).json()
    seen["stream"] = [one.place.pk for one in Watch(ada, Key(EPOCH, 0)).start() if one.place]
    return seen


def posts_of(browser: Client, address: str) -> list[str]:
    return browser.get(address).content.decode().split("<article")[1:]


@pytest.mark.slow
def test_a_muted_author_is_nowhere_and_comes_back_exactly(
    ada: Reader, web: Callable[[Reader], Client], noise: list[str]
) -> None:
    browser = web(ada)
    before = everywhere(ada, browser)
    assert all(name in str(before) for name in noise)
    mute(reader=ada, channel=None, url=MUTED_AUTHOR, now=NOW)
    muted = everywhere(ada, browser)
    assert "Noise" not in str(muted)
    counts = {one["uid"]: one["unread"] for one in muted["channels"]["channels"]}
    assert counts == {"notifications": 0, "home": 1, "other": 0}
    assert (muted["news"]["new"], muted["news"]["counts"][""], len(muted["stream"])) == (1, "1", 1)
    unmute(reader=ada, channel=None, url=MUTED_AUTHOR)
    after = everywhere(ada, browser)
    assert {name: after[name] for name in after if not name.startswith("/")} == {
        name: before[name] for name in before if not name.startswith("/")
    }
    assert [len(after[address]) for address in PAGES] == [len(before[address]) for address in PAGES]


def test_a_mute_in_one_channel_is_of_that_channel(
    ada: Reader, home: Channel, web: Callable[[Reader], Client], noise: list[str]
) -> None:
    mute(reader=ada, channel=home, url=MUTED_AUTHOR, now=NOW)
    seen = str(everywhere(ada, web(ada)))
    assert [name in seen for name in noise] == [False, False, True, True]


def test_a_blocked_author_does_not_come_back(
    ada: Reader, web: Callable[[Reader], Client], noise: list[str]
) -> None:
    mute(reader=ada, channel=None, url=MUTED_AUTHOR, now=NOW, is_block=True)
    unmute(reader=ada, channel=None, url=MUTED_AUTHOR, is_block=True)
    mute(reader=ada, channel=None, url=MUTED_AUTHOR, now=NOW)
    unmute(reader=ada, channel=None, url=MUTED_AUTHOR)
    seen = everywhere(ada, web(ada))
    assert "Noise" not in str(seen)
    assert seen["news"]["counts"][""] == "1"
