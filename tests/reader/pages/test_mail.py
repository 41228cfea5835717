"""The page of secret addresses, and senders' pages."""

import io
import json
import zipfile
from typing import Any

import pytest
from django.test import Client

from feeds.models import Feed
from reader.inbox import addresses
from reader.inbox.addresses import recipient_of
from reader.inbox.take import take_mail
from reader.models import Channel, Follow, MailAddress, MailSource, Reader
from reader.people.personal_data import data_file
from reader.people.readers import drop_reader
from tests.factories import NOW
from tests.reader.inbox.conftest import DOMAIN, newsletter

PAGE = "/reader/mail/"


@pytest.fixture(autouse=True)
def mail_is_received(settings: Any) -> None:
    settings.BOUNCE_DOMAIN = DOMAIN


def text(browser: Client, path: str = PAGE) -> str:
    response = browser.get(path)
    assert response.status_code == 200, response.content
    return response.content.decode()


def act(browser: Client, **given: Any) -> Any:
    return browser.post(PAGE, given)


def test_an_address_is_made_changed_replaced_and_deleted(browser: Client, channel: Any) -> None:
    assert "Create address" in text(browser)
    assert "Copy an address" not in text(browser)
    act(browser, act="add")
    address = MailAddress.objects.get()
    assert recipient_of(address) in text(browser)
    assert "Nobody has written yet" in text(browser)
    act(browser, act="alter", address=address.pk, channel=channel("news").uid, asks_first="on")
    changed = MailAddress.objects.get()
    assert (changed.channel, changed.asks_first) == (channel("news"), True)
    act(browser, act="replace", address=address.pk)
    assert recipient_of(address) not in text(browser)
    act(browser, act="delete", address=address.pk)
    assert not MailAddress.objects.exists()


def test_addresses_have_a_limit(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "MOST_ADDRESSES", 2)
    for _ in range(2):
        act(browser, act="add")
    response = act(browser, act="add")
    assert (response.status_code, MailAddress.objects.count()) == (400, 2)
    assert "at most 2 addresses" in response.content.decode()


def test_addresses_and_senders_of_others_are_not_found(browser: Client, bob: Reader, web: Any) -> None:
    act(web(bob), act="add", asks_first="on")
    address = MailAddress.objects.get()
    take_mail(newsletter(), [recipient_of(address)], NOW)
    source = MailSource.objects.get()
    for given in ({"act": "delete", "address": address.pk}, {"act": "replace", "address": address.pk}):
        assert act(browser, **given).status_code == 404
    for name in ("accept", "refuse"):
        assert act(browser, act=name, source=source.pk).status_code == 404
    assert act(browser, act="add", channel=bob.channels.get(uid="home").uid).status_code == 302
    assert "The first issue" not in text(browser)


def test_held_senders_are_accepted_or_refused(browser: Client, home: Channel) -> None:
    act(browser, act="add", asks_first="on")
    to = [recipient_of(MailAddress.objects.get())]
    take_mail(newsletter(), to, NOW)
    raw = newsletter(sender="spam@bad.example", subject="<b>Buy", Message_ID="<1@bad.example>")
    take_mail(raw, to, NOW)
    page = text(browser)
    assert "The first issue" in page
    assert "&lt;b&gt;Buy" in page
    first, second = MailSource.objects.order_by("pk")
    act(browser, act="accept", source=first.pk)
    act(browser, act="refuse", source=second.pk)
    assert "The first issue" in text(browser, "/reader/c/home/")
    page = text(browser)
    assert "Refused senders" in page
    assert "New senders" not in page


def test_problems_are_shown(browser: Client) -> None:
    act(browser, act="add")
    MailAddress.objects.update(problem="large", problem_at=NOW)
    assert "it was too large." in text(browser)


@pytest.fixture
def source(browser: Client) -> MailSource:
    act(browser, act="add")
    confirm = '<p>Please <a href="https://news.example/c">confirm</a> your subscription.</p>'
    raw = newsletter(
        html=confirm,
        List_Unsubscribe="<https://news.example/u>",
        List_Unsubscribe_Post="List-Unsubscribe=One-Click",
    )
    take_mail(raw, [recipient_of(MailAddress.objects.get())], NOW)
    return MailSource.objects.get()


def test_a_request_to_confirm_is_shown_as_one(browser: Client, source: MailSource) -> None:
    timeline = text(browser, "/reader/")
    assert "asks you to confirm a subscription" in timeline
    assert (
        '<a href="https://news.example/c" rel="noopener noreferrer"><bdi>https://news.example/c' in timeline
    )


def test_a_sender_page_unsubscribes(browser: Client, source: MailSource, settings: Any) -> None:
    path = f"/reader/feeds/{source.feed_id}/"
    page = text(browser, path)
    assert "Jane Doe" in page
    assert "Fetch feed now" not in page
    assert "Edit address" not in page
    settings.ALLOW_PRIVATE_NETWORKS = []
    MailSource.objects.update(leaving={"one_click": "https://127.0.0.1:9/u"})
    browser.post(path, {"act": "leave", "channel": "home"})
    page = text(browser, path)
    assert "Unsubscribing on" in page
    assert "127.0.0.1" in page
    MailSource.objects.update(left="done")
    assert "The sender confirmed it" in text(browser, path)


def test_a_sender_of_another_reader_is_not_left(source: MailSource, bob: Reader, web: Any) -> None:
    assert web(bob).get(f"/reader/feeds/{source.feed_id}/").status_code == 404
    response = web(bob).post(f"/reader/feeds/{source.feed_id}/", {"act": "leave", "channel": "home"})
    assert response.status_code == 404
    assert MailSource.objects.get().left == ""


def test_unfollowing_a_sender_refuses_it(browser: Client, source: MailSource) -> None:
    response = browser.post(f"/reader/feeds/{source.feed_id}/unfollow/", {"channel": "home"})
    assert (response.status_code, response["Location"]) == (302, PAGE)
    assert MailSource.objects.get().state == "refused"
    assert "Its posts are kept" in text(browser, f"/reader/feeds/{source.feed_id}/")
    act(browser, act="accept", source=source.pk)
    assert Follow.objects.filter(feed=source.feed_id).exists()


def test_a_site_without_mail_shows_none_of_it(browser: Client, settings: Any) -> None:
    assert PAGE in text(browser, "/reader/account/")
    assert PAGE in text(browser, "/reader/follow/")
    settings.BOUNCE_DOMAIN = ""
    assert PAGE not in text(browser, "/reader/account/")
    assert PAGE not in text(browser, "/reader/follow/")
    assert browser.get(PAGE).status_code == 404


def test_personal_data_has_addresses_and_senders(source: MailSource) -> None:
    octets = b"".join(data_file(source.reader, now=NOW))
    given = json.loads(zipfile.ZipFile(io.BytesIO(octets)).read("my-data.json"))
    assert given["mail_addresses"][0]["key"] in source.sent_to
    assert given["mail_senders"][0]["sender"] == "jane@news.example"
    drop_reader(reader=source.reader, now=NOW)
    assert not MailAddress.objects.exists()
    assert not MailSource.objects.exists()
    assert not Feed.objects.exists()
