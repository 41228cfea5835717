"""Channels side by side: which ones, their order, and their marks."""

from collections.abc import Callable

import pytest
from django.test import Client

from reader.channels.channels import add_channel
from reader.models import Channel, Reader, Unread
from reader.pages import timelines
from tests.reader.posts import minutes, put

pytestmark = pytest.mark.django_db
PAGE = "/reader/deck/"


def columns(browser: Client, query: str = "") -> list[str]:
    page = browser.get(PAGE + query).content.decode()
    return [part.split('"')[0] for part in page.split('aria-labelledby="column-')[1:]]


def test_every_channel_is_a_column_until_one_chooses(browser: Client, ada: Reader) -> None:
    news = add_channel(reader=ada, name="News")
    assert columns(browser) == [news.uid, "home"]
    put(ada.channels.get(is_notifications=True))
    assert columns(browser) == ["notifications", news.uid, "home"]
    browser.post(PAGE, {"channel": ["home", "none"]})
    assert columns(browser) == ["home"]
    browser.post(PAGE, {})
    assert columns(browser) == []
    assert "Choose channels above" in browser.get(PAGE).content.decode()


def test_a_column_has_the_newest_posts_and_leads_to_the_rest(
    browser: Client, home: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timelines, "POSTS_IN_A_COLUMN", 2)
    places = [put(home, at=minutes(number), is_unread=number < 2) for number in range(3)]
    page = browser.get(PAGE).content.decode()
    shown = [f'id="post-{place.pk}"' in page for place in places]
    assert shown == [False, True, True]
    assert "/reader/c/home/?after=" in page
    unread = browser.get(f"{PAGE}?unread").content.decode()
    assert [f'id="post-{place.pk}"' in unread for place in places] == [True, True, False]


def test_a_column_is_marked_read_by_itself_and_undone(browser: Client, ada: Reader, home: Channel) -> None:
    news = add_channel(reader=ada, name="News")
    here, there = put(home), put(news)
    given = {"act": "all", "channel": "home", "top": here.pk, "back": PAGE}
    back = browser.post("/reader/mark/", given).headers["Location"]
    assert list(Unread.objects.values_list("place", flat=True)) == [there.pk]
    page = browser.get(back).content.decode()
    assert "1 post marked as read." in page
    name = page.split('name="name" value="')[1].split('"')[0]
    browser.post("/reader/undo/", {"name": name, "back": PAGE})
    assert Unread.objects.count() == 2


def test_there_are_so_many_columns_and_no_more(browser: Client, ada: Reader) -> None:
    for number in range(timelines.MOST_COLUMNS + 3):
        add_channel(reader=ada, name=f"Channel {number}")
    put(ada.channels.get(is_notifications=True))
    assert len(columns(browser)) == timelines.MOST_COLUMNS


def test_nobody_chooses_for_another(web: Callable[[Reader], Client], ada: Reader, bob: Reader) -> None:
    web(bob).post(PAGE, {"channel": []})
    assert ada.channels.filter(in_deck=False).count() == 0
    assert bob.channels.filter(in_deck=True).count() == 0
