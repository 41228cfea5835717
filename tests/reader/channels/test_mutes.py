"""A muted author disappears everywhere, and unmuting restores each post; blocking is permanent."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from reader.channels.filters import mute, unmute
from reader.models import Channel, Follow, Reader
from reader.rules.order import EPOCH, Key
from reader.streams.stream import Watch
from tests.factories import NOW, FeedFactory
from tests.reader.client import MicrosubClient
from tests.reader.posts import an_entry, minutes, put

pytestmark = pytest.mark.django_db
AUTHOR = "https://author.example/"
PAGES = (
    "/reader/",
    "/reader/?unread",
    "/reader/c/home/",
    "/reader/c/home/?unread",
    "/reader/search/?q=noise",
    "/reader/c/notifications/",
    "/reader/c/other/",
)


@pytest.fixture
def noise(ada: Reader, home: Channel, channel: Callable[[str], Channel]) -> list[str]:
    """Create an author's posts, read and unread, in each channel, and one post by somebody else."""
    feed = FeedFactory(title="Blog")
    Follow.objects.create(channel=home, feed=feed)
    written = []
    for place, where in enumerate([home, home, channel("other"), ada.channels.get(uid="notifications")]):
        jf2 = {"type": "entry", "name": f"Noise {place}", "author": {"url": AUTHOR}}
        entry = an_entry(feed=feed, author=AUTHOR, jf2=jf2, text="noise")
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
    mute(reader=ada, channel=None, url=AUTHOR, now=NOW)
    muted = everywhere(ada, browser)
    assert "Noise" not in str(muted)
    counts = {one["uid"]: one["unread"] for one in muted["channels"]["channels"]}
    assert counts == {"notifications": 0, "home": 1, "other": 0}
    assert (muted["news"]["new"], muted["news"]["counts"][""], len(muted["stream"])) == (1, "1", 1)
    unmute(reader=ada, channel=None, url=AUTHOR)
    after = everywhere(ada, browser)
    assert {name: after[name] for name in after if not name.startswith("/")} == {
        name: before[name] for name in before if not name.startswith("/")
    }
    assert [len(after[address]) for address in PAGES] == [len(before[address]) for address in PAGES]


def test_a_mute_in_one_channel_is_of_that_channel(
    ada: Reader, home: Channel, web: Callable[[Reader], Client], noise: list[str]
) -> None:
    mute(reader=ada, channel=home, url=AUTHOR, now=NOW)
    seen = str(everywhere(ada, web(ada)))
    assert [name in seen for name in noise] == [False, False, True, True]


def test_a_blocked_author_does_not_come_back(
    ada: Reader, web: Callable[[Reader], Client], noise: list[str]
) -> None:
    mute(reader=ada, channel=None, url=AUTHOR, now=NOW, is_block=True)
    unmute(reader=ada, channel=None, url=AUTHOR, is_block=True)
    mute(reader=ada, channel=None, url=AUTHOR, now=NOW)
    unmute(reader=ada, channel=None, url=AUTHOR)
    seen = everywhere(ada, web(ada))
    assert "Noise" not in str(seen)
    assert seen["news"]["counts"][""] == "1"
