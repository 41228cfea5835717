"""The admin's pages of readers and invitations show numbers and dates, never what somebody reads."""

import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from delivery.engine.send_pass import send_due
from delivery.models import Delivery
from reader.channels.follows import follow_feed
from reader.models import Channel, Invitation, Reader, Star, Token
from reader.people.readers import erase_leavers
from tests.factories import NOW, FeedFactory
from tests.reader.posts import an_entry, put
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db
SECRET = "Heron-4711"
READERS, INVITATIONS = "/admin/reader/reader/", "/admin/reader/invitation/"


@pytest.fixture
def reading(ada: Reader, home: Channel) -> Channel:
    """Let Ada follow, read, star and mute things that contain that word."""
    Channel.objects.filter(pk=home.pk).update(name=SECRET)
    feed = FeedFactory(title=SECRET, url=f"https://{SECRET}.example/feed")
    follow_feed(channel=home, feed=feed)
    entry = an_entry(feed=feed, jf2={"type": "entry", "name": SECRET})
    put(home, entry)
    put(home, is_unread=False)
    Star.objects.create(reader=ada, entry=entry)
    ada.mutes.create(url=f"https://{SECRET}.example/", key="x")
    return home


@pytest.mark.slow
def test_no_page_shows_what_somebody_reads(reading: Channel, ada: Reader, admin_client: Client) -> None:
    Invitation.objects.create(name="ada", digest="x", expires_at=NOW, used_at=NOW, reader=ada)
    user = f"/admin/auth/user/{ada.user.pk}/"
    chosen = {"_selected_action": [ada.pk], "action": "erase"}
    users = {"_selected_action": [ada.user.pk], "action": "delete_selected"}
    pages = [
        admin_client.get(READERS),
        admin_client.get(f"{READERS}?q=ada"),
        admin_client.get(f"{READERS}{ada.pk}/change/"),
        admin_client.get(f"{READERS}{ada.pk}/history/"),
        admin_client.post(READERS, chosen),
        admin_client.get(INVITATIONS),
        admin_client.get(f"{INVITATIONS}{Invitation.objects.get().pk}/change/"),
        admin_client.get(f"{user}change/"),
        admin_client.get(f"{user}delete/"),
        admin_client.post("/admin/auth/user/", users),
    ]
    for page in pages:
        assert page.status_code == 200
        said = page.content.decode()
        assert SECRET.lower() not in said.lower()
        assert "ada" in said, page.request["PATH_INFO"]


def test_only_readers_and_invitations_have_pages() -> None:
    # Loads the admin.
    reverse("admin:index")
    registered = {
        model for model in apps.get_app_config("reader").get_models() if admin.site.is_registered(model)
    }
    assert registered == {Reader, Invitation}


def test_nobody_deletes_a_user_who_reads_here_with_what_they_read(
    reading: Channel, ada: Reader, admin_client: Client
) -> None:
    page = f"/admin/auth/user/{ada.user.pk}/delete/"
    assert "erase the reader first" in admin_client.get(page).content.decode()
    admin_client.post(page, {"post": "yes"})
    assert User.objects.filter(username="ada").exists()


def test_the_list_counts(reading: Channel, ada: Reader, bob: Reader, admin_client: Client) -> None:
    Token.objects.create(reader=ada, client="phone", digest="x")
    said = admin_client.get(READERS).content.decode()
    assert "2 readers" in said
    assert "not yet" in said
    assert "1 feed" in admin_client.get(f"{READERS}{ada.pk}/change/").content.decode()


def test_a_limit_is_set_for_one_person(ada: Reader, home: Channel, admin_client: Client) -> None:
    page = f"{READERS}{ada.pk}/change/"
    assert "greater than or equal to 1" in admin_client.post(page, {"max_feeds": "0"}).content.decode()
    admin_client.post(page, {"max_feeds": "1"})
    ada.refresh_from_db()
    assert ada.max_feeds == 1
    admin_client.post(page, {"max_feeds": ""})
    ada.refresh_from_db()
    assert ada.max_feeds is None


def test_a_reader_is_erased_after_a_question(reading: Channel, ada: Reader, admin_client: Client) -> None:
    chosen = {"_selected_action": [ada.pk], "action": "erase"}
    assert "1 feed no longer followed" in admin_client.post(READERS, chosen).content.decode()
    assert not erase_leavers(now=NOW)
    admin_client.post(READERS, {**chosen, "confirmed": "yes"})
    assert erase_leavers(now=NOW) == 1
    assert not Reader.objects.exists()


def test_an_invitations_link_is_shown_once(admin_client: Client) -> None:
    answer = admin_client.post(f"{INVITATIONS}add/", {"name": "Eve", "days": "3", "max_feeds": "5"})
    (link,) = set(_links(answer.content.decode()))
    assert "no-store" in answer["Cache-Control"]
    invitation = Invitation.objects.get()
    assert (invitation.max_feeds, invitation.made_by.username) == (5, "admin")  # type: ignore[union-attr]
    assert Client().get(link).status_code == 200
    for page in (INVITATIONS, f"{INVITATIONS}{invitation.pk}/change/"):
        assert link not in admin_client.get(page).content.decode()


@pytest.mark.django_db(transaction=True)
def test_it_is_mailed_where_mail_goes_out_and_the_ledger_does_not_have_it(
    settings: Any, admin_client: Client
) -> None:
    settings.EMAIL_URL = "mailbox:"
    assert 'name="email"' not in admin_client.get(f"{INVITATIONS}add/").content.decode()
    with SmtpServer() as server:
        settings.EMAIL_URL = server.url
        given = {"name": "Eve", "days": "3", "email": "eve@example.org"}
        (link,) = set(_links(admin_client.post(f"{INVITATIONS}add/", given).content.decode()))
        mail = Delivery.objects.get()
        assert link.split("/")[3] not in str(mail.context)
        assert send_due().sent == 1
        text = server.messages[0].data.decode().replace("=\r\n", "")
    assert f"{settings.SITE_URL}{link}" in text
    assert "for 3 days" in text


def test_it_is_taken_back_after_a_question(admin_client: Client) -> None:
    invitation = Invitation.objects.create(name="eve", digest="x", expires_at=NOW)
    chosen = {"_selected_action": [invitation.pk], "action": "revoke"}
    assert "1 invitation can’t be used any more" in admin_client.post(INVITATIONS, chosen).content.decode()
    admin_client.post(INVITATIONS, {**chosen, "confirmed": "yes"})
    invitation.refresh_from_db()
    assert invitation.revoked_at is not None


def test_what_cannot_be_is_said_at_its_field(settings: Any, admin_client: Client) -> None:
    assert "90" in admin_client.post(f"{INVITATIONS}add/", {"name": "Eve", "days": "400"}).content.decode()
    settings.READER = "staff"
    refused = admin_client.post(f"{INVITATIONS}add/", {"name": "Eve", "days": "3"}).content.decode()
    assert "READER=staff" in refused
    assert not Invitation.objects.exists()


def test_who_may_see_nothing_sees_nothing(client: Client) -> None:
    client.force_login(User.objects.create_user("eve", is_staff=True))
    for name in ("admin:reader_reader_changelist", "admin:reader_invitation_add"):
        assert client.get(reverse(name)).status_code == 403


def _links(page: str) -> list[str]:
    return re.findall(r"http://127\.0\.0\.1:8000(/reader/invitation/[\w-]+/)", page)
