"""The pages of channels: add, rename, order, set, delete; mute and block."""

from collections.abc import Callable

import pytest
from django.test import Client

from reader.models import Channel, Mute, Reader, TimelineEntry
from tests.reader.posts import an_entry, put

pytestmark = pytest.mark.django_db
AUTHOR = "https://ada.example.org/"


def names(ada: Reader) -> list[str]:
    return list(ada.channels.order_by("-is_notifications", "position", "pk").values_list("name", flat=True))


def test_channels_are_added_and_moved(browser: Client, ada: Reader) -> None:
    for name in ("News", "Music"):
        assert browser.post("/reader/channels/", {"name": name}).status_code == 302
    assert names(ada) == ["Notifications", "Music", "News", "Home"]
    browser.post("/reader/channels/", {"act": "down", "channel": ada.channels.get(name="Music").uid})
    assert names(ada) == ["Notifications", "News", "Music", "Home"]
    browser.post("/reader/channels/", {"act": "up", "channel": ada.channels.get(name="News").uid})
    browser.post("/reader/channels/", {"act": "down", "channel": "notifications"})
    assert names(ada) == ["Notifications", "News", "Music", "Home"]


@pytest.mark.parametrize(("name", "says"), [("Home", "with that name"), (" ", "at most 100 characters")])
def test_a_name_that_cannot_be_is_told(browser: Client, ada: Reader, name: str, says: str) -> None:
    answer = browser.post("/reader/channels/", {"name": name})
    assert answer.status_code == 400
    assert says in answer.content.decode()


def test_settings_are_saved(browser: Client, home: Channel) -> None:
    browser.post(
        "/reader/c/home/settings/", {"name": "Friends", "unread": "flag", "keep": "14", "layout": "cards"}
    )
    home.refresh_from_db()
    assert (home.name, home.unread_mode, home.keep_days) == ("Friends", "flag", 14)
    put(home)
    assert 'data-count="home">•<' in browser.get("/reader/").content.decode()
    browser.post(
        "/reader/c/home/settings/", {"name": "Friends", "unread": "off", "keep": "", "layout": "list"}
    )
    home.refresh_from_db()
    assert (home.unread_mode, home.keep_days) == ("off", None)


@pytest.mark.parametrize("keep", ["0", "-1", "3651", "²", "many"])
def test_days_that_are_none_are_refused_and_what_was_typed_stays(
    browser: Client, home: Channel, keep: str
) -> None:
    answer = browser.post(
        "/reader/c/home/settings/", {"name": "Typed", "unread": "count", "keep": keep, "layout": "list"}
    )
    assert answer.status_code == 400
    assert 'value="Typed"' in answer.content.decode()
    home.refresh_from_db()
    assert (home.name, home.keep_days) == ("Home", None)


def test_a_channel_is_deleted_by_who_is_sure(browser: Client, home: Channel) -> None:
    put(home)
    assert browser.post("/reader/c/home/settings/", {"act": "delete"}).status_code == 400
    assert Channel.objects.filter(pk=home.pk).exists()
    assert browser.post("/reader/c/home/settings/", {"act": "delete", "sure": "on"}).status_code == 302
    assert not Channel.objects.filter(pk=home.pk).exists()
    assert (
        browser.post("/reader/c/notifications/settings/", {"act": "delete", "sure": "on"}).status_code == 400
    )


def test_a_muted_author_is_hidden_and_comes_back(browser: Client, home: Channel) -> None:
    place = put(home, an_entry(author=AUTHOR, jf2={"name": "Hers", "author": {"name": "Ada", "url": AUTHOR}}))
    page = browser.get(f"/reader/post/{place.entry_id}/").content.decode()
    assert f'name="url" value="{AUTHOR}"' in page
    browser.post("/reader/mute/", {"act": "mute", "url": AUTHOR})
    assert "Hers" not in browser.get("/reader/").content.decode()
    assert AUTHOR in browser.get("/reader/muted/").content.decode()
    browser.post("/reader/mute/", {"act": "unmute", "url": AUTHOR})
    assert "Hers" in browser.get("/reader/").content.decode()


def test_a_blocked_author_is_gone(browser: Client, home: Channel) -> None:
    put(home, an_entry(author=AUTHOR))
    browser.post("/reader/mute/", {"act": "block", "url": AUTHOR, "channel": "home"})
    browser.post("/reader/mute/", {"act": "unblock", "url": AUTHOR, "channel": "home"})
    assert not Mute.objects.exists()
    assert TimelineEntry.objects.get().hidden == TimelineEntry.Hidden.REMOVED


def test_what_another_reader_has_is_not_changed(
    web: Callable[[Reader], Client], bob: Reader, ada: Reader
) -> None:
    hers = ada.channels.create(uid="hers", name="Hers")
    Mute.objects.create(reader=ada, key="0" * 32, url=AUTHOR)
    browser = web(bob)
    assert browser.get("/reader/c/hers/settings/").status_code == 404
    for address, given in (
        ("/reader/c/hers/settings/", {"name": "Mine", "unread": "off", "keep": "1"}),
        ("/reader/c/hers/settings/", {"act": "delete", "sure": "on"}),
        ("/reader/channels/", {"act": "up", "channel": "hers"}),
        ("/reader/mute/", {"act": "mute", "url": AUTHOR, "channel": "hers"}),
        ("/reader/mute/", {"act": "unmute", "url": AUTHOR, "channel": "hers"}),
    ):
        assert browser.post(address, given).status_code == 404, address
    browser.post("/reader/mute/", {"act": "unmute", "url": AUTHOR})
    assert (Channel.objects.get(pk=hers.pk).name, Mute.objects.count()) == ("Hers", 1)
    assert AUTHOR not in browser.get("/reader/muted/").content.decode()
