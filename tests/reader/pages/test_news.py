"""The response to a page's script that asks for new posts."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from reader.models import Channel
from tests.reader.posts import minutes, put

pytestmark = pytest.mark.django_db


def since(browser: Client, address: str) -> str:
    """Return the page's `data-since`."""
    page = browser.get(address).content.decode()
    return page.partition('data-since="')[2].partition('"')[0]


def news(browser: Client, **given: str) -> dict[str, Any]:
    answer = browser.get("/reader/news/", given)
    assert answer.headers["Cache-Control"] == "private, no-store"
    told: dict[str, Any] = answer.json()
    return told


def test_posts_that_are_newer_than_the_page_are_counted_and_said(
    browser: Client, home: Channel, channel: Callable[[str], Channel]
) -> None:
    put(home)
    of_home, of_all = since(browser, "/reader/c/home/"), since(browser, "/reader/")
    assert news(browser, channel="home", since=of_home)["new"] == 0
    put(channel("other"), at=minutes(1))
    put(home, at=minutes(2), is_unread=False)
    told = news(browser, channel="home", since=of_home)
    assert (told["new"], told["words"]) == (1, "1 new post")
    assert (told["counts"][""], told["counts"]["other"]) == ("2", "1")
    assert news(browser, since=of_all)["words"] == "2 new posts"


def test_a_page_of_unread_posts_knows_what_is_read_above_them(browser: Client, home: Channel) -> None:
    put(home)
    put(home, at=minutes(1), is_unread=False)
    assert news(browser, since=since(browser, "/reader/?unread"))["new"] == 0


def test_an_empty_page_hears_of_its_first_post(browser: Client, home: Channel) -> None:
    empty = since(browser, "/reader/c/home/")
    put(home)
    assert news(browser, channel="home", since=empty)["words"] == "1 new post"


def test_older_pages_are_told_counts_alone(browser: Client, home: Channel) -> None:
    for _ in range(21):
        put(home)
    page = browser.get("/reader/").content.decode()
    older = page.partition('rel="next" href="')[2].partition('"')[0]
    assert since(browser, f"/reader/{older}") == ""
    told = news(browser, since="")
    assert (told["new"], told["words"], told["counts"][""]) == (0, "", "21")


def test_it_is_said_in_the_readers_language(browser: Client, home: Channel) -> None:
    empty = since(browser, "/reader/c/home/")
    put(home)
    told = browser.get("/reader/news/", {"since": empty}, headers={"Accept-Language": "de"}).json()
    assert told["words"] == "1 neuer Beitrag"


@pytest.mark.parametrize("given", [{"since": "nonsense"}, {"channel": "nonsense"}])
def test_what_is_not_there_is_not_found(browser: Client, given: dict[str, str]) -> None:
    assert browser.get("/reader/news/", given).status_code == 404
