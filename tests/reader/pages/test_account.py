"""The account: address, password, export of all data, and deletion."""

import io
import json
import secrets
import tracemalloc
import zipfile
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import ADDITION, LogEntry
from django.contrib.auth.models import User
from django.core import serializers
from django.core.cache import cache
from django.test import Client

from common.clock import utcnow
from common.ports import personal_data
from feeds.models import Feed
from reader.channels.follows import follow_feed
from reader.models import Channel, Entry, Invitation, Reader, Star, TimelineEntry, Token
from reader.people.personal_data import data_file
from reader.people.readers import erase_leavers, leave
from reader.people.tokens import make_token
from reader.tasks import prune
from tests.factories import NOW, FeedFactory
from tests.reader.client import MicrosubClient
from tests.reader.posts import an_entry, put

pytestmark = pytest.mark.django_db
OLD, NEW = "a-long-pass-17", "another-pass-18"
Browser = Callable[[Reader], Client]


@pytest.fixture(autouse=True)
def _password(ada: Reader) -> None:
    ada.user.set_password(OLD)
    ada.user.save()


def test_the_page_leads_to_all_of_it(ada: Reader, web: Browser) -> None:
    page = web(ada).get("/reader/account/").content.decode()
    for link in ("/account/password/", "/reader/account/data/", "/reader/account/erase/", "microsub/ada"):
        assert link in page


def test_the_mail_address_is_changed_by_whoever_knows_the_password(
    settings: Any, ada: Reader, web: Browser
) -> None:
    settings.EMAIL_URL = "smtp://127.0.0.1:1"
    given = {"email": "ada@example.org", "password": "wrong"}
    refused = web(ada).post("/reader/account/", given)
    assert (refused.status_code, "The password is wrong" in refused.content.decode()) == (400, True)
    assert User.objects.get().email == ""
    told = web(ada).post("/reader/account/", {**given, "password": OLD}, follow=True)
    assert "ada@example.org" in told.content.decode()
    assert User.objects.get().email == "ada@example.org"


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("/reader/account/", "password"),
        ("/reader/account/erase/", "password"),
        ("/account/password/", "oldpassword"),
    ],
)
def test_each_wrong_password_is_logged_and_twenty_are_tried(
    settings: Any, ada: Reader, web: Browser, caplog: pytest.LogCaptureFixture, page: str, name: str
) -> None:
    settings.EMAIL_URL = "smtp://127.0.0.1:1"
    browser, given = web(ada), {"email": "eve@example.org", "sure": "on", "password1": NEW}
    for number in range(20):
        cache.clear()
        browser.post(page, {**given, name: "wrong"}, REMOTE_ADDR=f"192.0.2.{number}")
    assert caplog.messages.count("Sign-in failed from 192.0.2.7: 'ada'") == 1
    answer = browser.post(page, {**given, name: OLD})
    assert "Too many wrong passwords" in answer.content.decode()
    assert (User.objects.get().email, Reader.objects.filter(leaving_at=None).count()) == ("", 1)


def test_another_password_signs_out_elsewhere(ada: Reader, web: Browser) -> None:
    here, elsewhere = web(ada), web(ada)
    given = {"oldpassword": OLD, "password1": NEW}
    refused = here.post("/account/password/", {**given, "oldpassword": "wrong"})
    assert "type your current password" in refused.content.decode()
    assert here.post("/account/password/", given)["Location"] == "/reader/account/"
    assert "signed out on all other devices" in here.get("/reader/account/").content.decode()
    assert elsewhere.get("/reader/account/").status_code == 302
    assert User.objects.get().check_password(NEW)


def test_all_data_comes_as_a_zip_of_json_and_opml(ada: Reader, web: Browser, home: Channel) -> None:
    feed = FeedFactory(title="Of Ada", url="https://blog.example/feed")
    follow_feed(channel=home, feed=feed)
    entry = an_entry(feed=feed, jf2={"type": "entry", "name": "Herons", "url": "https://blog.example/1"})
    put(home, entry)
    Star.objects.create(reader=ada, entry=entry)
    make_token(reader=ada, client="phone", now=NOW)
    MicrosubClient(ada).do("mute", channel="global", url="https://a.example/")
    answer = web(ada).get("/reader/account/data/")
    assert answer["Content-Disposition"] == 'attachment; filename="ada.zip"'
    archive = zipfile.ZipFile(io.BytesIO(b"".join(answer)))
    assert archive.testzip() is None
    data = json.loads(archive.read("my-data.json"))
    assert data["reader"] == "ada"
    assert data["follows"][0] | {"added_at": ""} == {
        "added_at": "",
        "url": "https://blog.example/feed",
        "name": "",
        "title": "Of Ada",
        "channel_uid": "home",
    }
    for kept in (data["starred"][0], data["posts"][0]):
        assert (kept["link"], kept["title"]) == ("https://blog.example/1", "Herons")
    assert data["posts"][0]["unread_since"]
    assert data["muted"][0]["url"] == "https://a.example/"
    assert {"phone"} <= {one["client"] for one in data["clients"]}
    assert "flr_" not in json.dumps(data)
    assert "blog.example/feed" in archive.read("feeds.opml").decode()


def test_the_file_says_what_was_left_out(ada: Reader, home: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(personal_data, "MOST_ROWS", 2)
    for _ in range(3):
        put(home)
    archive = zipfile.ZipFile(io.BytesIO(b"".join(data_file(ada, now=NOW))))
    data = json.loads(archive.read("my-data.json"))
    assert (len(data["posts"]), data["posts_left_out"]) == (2, 1)


@pytest.mark.slow
def test_the_file_is_never_whole_in_memory(ada: Reader, home: Channel) -> None:
    entries = Entry.objects.bulk_create(
        Entry(
            hash=f"{number:064}",
            jf2={"url": f"https://blog.example/{secrets.token_hex(60)}"},
            kind="article",
            seen_at=NOW,
        )
        for number in range(5_000)
    )
    TimelineEntry.objects.bulk_create(
        TimelineEntry(channel=home, reader=ada, entry=entry, at=NOW + timedelta(seconds=number))
        for number, entry in enumerate(entries)
    )
    tracemalloc.start()
    try:
        size = sum(len(piece) for piece in data_file(ada, now=NOW))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size > 300_000
    # A thousand rows at once, and a chunk of the file.
    assert peak < 3_000_000


def test_erasing_asks_once_more(ada: Reader, web: Browser) -> None:
    page = web(ada).get("/reader/account/erase/").content.decode()
    assert "can’t be undone" in page
    for given in ({}, {"sure": "on"}, {"password": OLD}, {"sure": "on", "password": "wrong"}):
        assert web(ada).post("/reader/account/erase/", given).status_code == 400
    assert not erase_leavers(now=utcnow())
    assert Reader.objects.filter(leaving_at=None).count() == 1


def test_erased_is_what_is_theirs_and_nothing_of_others(
    ada: Reader, bob: Reader, web: Browser, home: Channel
) -> None:
    feed, own = FeedFactory(), FeedFactory(for_letters=False)
    entry = an_entry(feed=feed)
    for channel in (home, bob.channels.get(uid="home")):
        follow_feed(channel=channel, feed=feed)
        put(channel, entry)
    follow_feed(channel=home, feed=own)
    put(ada.channels.get(is_notifications=True), entry)
    api, browser = MicrosubClient(ada), web(ada)
    said = browser.post("/reader/account/erase/", {"sure": "on", "password": OLD})
    assert "Your account is deleted" in said.content.decode()
    # Access ends at once, although rows are still being deleted.
    assert browser.get("/reader/").status_code == 302
    assert api.get("channels")[0] == 401
    assert not Client().login(username="ada", password=OLD)
    prune()
    assert list(Reader.objects.all()) == [bob]
    assert [user.username for user in User.objects.all()] == ["bob"]
    assert TimelineEntry.objects.get().reader == bob
    assert Entry.objects.count() == 1
    assert dict(Feed.objects.values_list("pk", "read_by")) == {feed.pk: 1, own.pk: 0}
    assert not Token.objects.exists()


def test_nothing_opens_and_nothing_is_posted_after_leaving(ada: Reader) -> None:
    ada.app_passwords.create(app="phone", digest="x")
    waiting = ada.compositions.create(key="x", said={}, state="waiting", due_at=NOW)
    leave(reader=ada, now=NOW)
    waiting.refresh_from_db()
    assert waiting.due_at is None
    assert not ada.app_passwords.exists()


def test_an_admin_stays_a_user_and_signed_in(ada: Reader, web: Browser) -> None:
    ada.user.is_staff = True
    ada.user.save()
    browser = web(ada)
    assert "Your admin account" in browser.get("/reader/account/erase/").content.decode()
    assert (
        "sign in to the admin"
        in browser.post("/reader/account/erase/", {"sure": "on", "password": OLD}).content.decode()
    )
    assert browser.get("/admin/").status_code == 200
    erase_leavers(now=utcnow())
    assert User.objects.get().is_active
    assert not Reader.objects.exists()


def test_who_once_changed_things_in_the_admin_stays_in_its_history(ada: Reader) -> None:
    LogEntry.objects.create(user=ada.user, action_flag=ADDITION, object_repr="x")
    leave(reader=ada, now=NOW)
    assert erase_leavers(now=NOW) == 1
    assert not User.objects.get().is_active
    assert LogEntry.objects.count() == 1


def test_erasing_takes_the_invitation_along(ada: Reader) -> None:
    Invitation.objects.create(name="ada", digest="x", expires_at=NOW, used_at=NOW, reader=ada)
    leave(reader=ada, now=NOW)
    erase_leavers(now=NOW)
    assert not Invitation.objects.exists()


def test_nobody_changes_the_account_of_another(ada: Reader, bob: Reader, web: Browser) -> None:
    bob.user.set_password("pass-of-bob-19")
    bob.user.save()
    before = serializers.serialize("json", [ada, ada.user])
    browser = web(bob)
    given = {"user": ada.user.pk, "reader": ada.pk, "username": "ada", "slug": "ada"}
    browser.post("/reader/account/", {**given, "email": "bob@example.org", "password": OLD})
    browser.post("/account/password/", {**given, "oldpassword": OLD, "password1": NEW})
    browser.post("/reader/account/erase/", {**given, "sure": "on", "password": OLD})
    archive = zipfile.ZipFile(io.BytesIO(b"".join(browser.get("/reader/account/data/?user=ada"))))
    assert json.loads(archive.read("my-data.json"))["reader"] == "bob"
    assert erase_leavers(now=utcnow()) == 0
    ada.refresh_from_db()
    ada.user.refresh_from_db()
    assert serializers.serialize("json", [ada, ada.user]) == before


def test_it_is_noted_to_the_hour_that_somebody_was_here(ada: Reader, web: Browser) -> None:
    web(ada).get("/reader/")
    ada.refresh_from_db()
    seen = ada.last_seen_at
    assert seen is not None
    assert (seen.minute, seen.second, seen.microsecond) == (0, 0, 0)
    assert utcnow() - seen < timedelta(hours=1)
