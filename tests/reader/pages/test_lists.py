"""The pages of OPML: a file is imported with a report, and one is exported."""

from collections.abc import Callable
from io import BytesIO

import pytest
from django.test import Client

from feeds.parsing.opml import parse_opml
from reader.channels.opml import keep_list
from reader.models import Channel, Follow, FollowList, Reader
from reader.pages import feeds
from tests.factories import NOW, FeedFactory
from tests.reader.channels.test_opml import LIST

pytestmark = pytest.mark.django_db
PAGE = "/reader/feeds/opml/"
GERMAN = {"accept-language": "de"}


def a_file(body: str = LIST) -> BytesIO:
    file = BytesIO(body.encode())
    file.name = "feeds.opml"
    return file


def test_a_file_is_taken_over_and_each_line_is_told(
    browser: Client, ada: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "WAITED_FOR", None)
    answer = browser.post(PAGE, {"file": a_file(), "channel": "home"})
    assert (answer.status_code, answer.headers["Location"]) == (302, PAGE)
    assert Follow.objects.count() == 5
    answer = browser.get(PAGE)
    page = answer.content.decode()
    assert "Your list was imported." in page
    assert "It is a link to a web page, not a feed." in page
    assert "The Tide" in page
    assert "hidden-word" not in page
    assert "Refresh" not in answer.headers


def test_reasons_are_in_the_readers_language_or_marked_as_english(
    browser: Client, ada: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "WAITED_FOR", None)
    browser.post(PAGE, {"file": a_file(), "channel": "home"}, headers=GERMAN)
    page = browser.get(PAGE, headers=GERMAN).content.decode()
    assert '<span lang="en" dir="auto">It is a link to a web page, not a feed.</span>' in page
    assert '<span dir="auto">Die Adresse enthält einen Benutzernamen oder ein Passwort.' in page


def test_a_list_that_goes_on_says_how_far_it_is_and_can_be_stopped(browser: Client, ada: Reader) -> None:
    keep_list(reader=ada, body=LIST.encode(), now=NOW)
    answer = browser.get(PAGE)
    assert "2 of 9 lines are done." in answer.content.decode()
    assert answer.headers["Refresh"] == "3"
    browser.post(PAGE, {"act": "stop"})
    assert "Your list was imported." in browser.get(PAGE).content.decode()
    assert not Follow.objects.exists()


@pytest.mark.parametrize(
    ("given", "says"), [({}, "Choose a file first."), ({"file": a_file("none")}, "there is no outline in it")]
)
def test_what_cannot_be_taken_is_said(
    browser: Client, ada: Reader, given: dict[str, object], says: str
) -> None:
    answer = browser.post(PAGE, given)
    assert answer.status_code == 400
    assert says in answer.content.decode()
    assert not FollowList.objects.exists()


def test_a_file_of_another_size_or_reader_is_refused(
    browser: Client, ada: Reader, web: Callable[[Reader], Client], bob: Reader
) -> None:
    assert browser.post(PAGE, {"file": a_file("x" * 5_100_000)}).status_code == 413
    ada.channels.create(uid="hers", name="Hers")
    assert web(bob).post(PAGE, {"file": a_file(), "channel": "hers"}).status_code == 404
    keep_list(reader=ada, body=LIST.encode(), now=NOW)
    web(bob).post(PAGE, {"act": "stop"})
    assert FollowList.objects.get().ended_at is None
    assert "lines are done" not in web(bob).get(PAGE).content.decode()


def test_the_list_is_taken_along_by_channel_and_without_secrets(
    browser: Client, ada: Reader, home: Channel
) -> None:
    news = ada.channels.create(uid="news", name="News & more")
    feed = FeedFactory(title="Tide", credentials={"user": "u", "password": "hidden-word"})
    for channel in (home, news):
        Follow.objects.create(channel=channel, feed=feed)
    answer = browser.get("/reader/feeds/list.opml")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="ada.opml"'
    found = parse_opml(answer.content).outlines
    assert {(one.url, one.title, one.folder) for one in found} == {
        (feed.url, "Tide", "Home"),
        (feed.url, "Tide", "News & more"),
    }
    assert b"hidden-word" not in answer.content
