"""The side column: channels, their feeds, and the account."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from feeds.models import Feed
from reader.models import Channel, Follow, Reader
from tests.factories import NOW, FeedFactory
from tests.reader.posts import an_entry, put

pytestmark = pytest.mark.django_db


@pytest.fixture
def feed(home: Channel) -> Feed:
    feed = FeedFactory(title="Harbour Notes")
    Follow.objects.create(channel=home, feed=feed)
    return feed


def column(client: Client, address: str = "/reader/") -> str:
    return client.get(address).content.decode().partition('id="channels"')[2].partition("</nav>")[0]


def counts(html: str) -> dict[str, str]:
    """Return the counts by `data-count`."""
    return dict(re.findall(r'data-count="([^"]*)">([^<]*)<', html))


def current(html: str) -> list[str]:
    return [unescape(link) for link in re.findall(r'href="([^"]*)" aria-current="page"', html)]


def test_each_feed_has_its_unread_posts_in_each_channel(
    browser: Client, home: Channel, feed: Feed, channel: Callable[[str], Channel]
) -> None:
    other = channel("other")
    Follow.objects.create(channel=other, feed=feed)
    for is_unread in (True, True, False):
        put(home, an_entry(feed=feed), is_unread=is_unread)
    put(other, an_entry(feed=feed))
    put(home, an_entry(feed=FeedFactory()))
    wanted = {"": "4", "home": "3", f"home/{feed.pk}": "2", "other": "1", f"other/{feed.pk}": "1"}
    assert counts(column(browser)) == {**wanted, "notifications": ""}
    listed = counts(browser.get("/reader/feeds/").content.decode().partition("<main")[2])
    assert listed == {f"home/{feed.pk}": "2", f"other/{feed.pk}": "1"}


@pytest.mark.parametrize(("mode", "shown"), [("count", "1"), ("flag", "•"), ("off", "")])
def test_a_feed_is_counted_as_its_channel_is(
    browser: Client, home: Channel, feed: Feed, mode: str, shown: str
) -> None:
    Channel.objects.filter(pk=home.pk).update(unread_mode=mode)
    put(home, an_entry(feed=feed))
    told = counts(column(browser))
    assert (told["home"], told[f"home/{feed.pk}"]) == (shown, shown)


def test_above_the_limit_the_newest_are_counted(
    browser: Client, home: Channel, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reader.timelines.pages.MOST_COUNTED", 2)
    monkeypatch.setattr("reader.pages.access.MOST_COUNTED", 2)
    for _ in range(2):
        put(home, an_entry(feed=feed))
    assert counts(column(browser))[f"home/{feed.pk}"] == "2"
    put(home, an_entry(feed=feed))
    told = counts(column(browser))
    assert (told["home"], told[f"home/{feed.pk}"]) == ("3", "2+")


@pytest.mark.parametrize("address", ["/reader/", "/reader/c/home/", "/reader/feeds/", "/reader/account/"])
def test_three_hundred_feeds_need_no_more_queries_than_one(
    browser: Client, home: Channel, feed: Feed, address: str
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert browser.get(address).status_code == 200
        return len(asked)

    put(home, an_entry(feed=feed))
    browser.get(address)
    before = queries()
    more = Feed.objects.bulk_create(
        Feed(url=f"https://{n}.example/feed", host=f"{n}.example", added_at=NOW) for n in range(299)
    )
    Follow.objects.bulk_create(Follow(channel=home, feed=feed) for feed in more)
    for one in more[:5]:
        put(home, an_entry(feed=one))
    assert len(counts(column(browser))) > 300
    assert queries() == before


def test_a_feed_leads_to_its_posts_in_that_channel_and_is_marked_there(
    browser: Client, home: Channel, feed: Feed, channel: Callable[[str], Channel]
) -> None:
    other = channel("other")
    Follow.objects.create(channel=other, feed=feed)
    address = f"/reader/feeds/{feed.pk}/?channel=other"
    assert f'href="{address}"' in column(browser)
    assert current(column(browser, address)) == [address]
    assert current(column(browser, "/reader/c/other/")) == ["/reader/c/other/"]
    assert current(column(browser, "/reader/feeds/")) == ["/reader/feeds/"]


def test_channels_of_few_feeds_are_open_and_of_many_only_the_current_one(
    browser: Client, home: Channel, feed: Feed, channel: Callable[[str], Channel]
) -> None:
    def opened(address: str) -> list[str]:
        return re.findall(r'data-count="(\w+)">[^<]*</span></a>\s*<details open>', column(browser, address))

    other = channel("other")
    Follow.objects.create(channel=other, feed=feed)
    assert opened("/reader/") == ["home", "other"]
    for _ in range(20):
        Follow.objects.create(channel=other, feed=FeedFactory())
    assert opened("/reader/") == []
    assert opened("/reader/c/home/") == ["home"]


@pytest.mark.parametrize("is_staff", [False, True])
def test_the_account_menu_leads_staff_to_the_admin(browser: Client, ada: Reader, is_staff: bool) -> None:
    ada.user.is_staff = is_staff
    ada.user.save()
    menu: Any = column(browser).rpartition("<details")[2]
    assert ('href="/admin/"' in menu) == is_staff
    assert 'action="/account/sign-out/"' in menu


def test_a_post_without_a_title_has_a_visible_link(browser: Client, home: Channel) -> None:
    place = put(home, an_entry(jf2={"type": "entry", "content": {"text": "High water at six."}}))
    page = browser.get("/reader/").content.decode()
    assert re.search(rf'<a href="/reader/post/{place.entry_id}/" class="when"><time', page)
