"""The built-in mailbox: embedded mode only, staff only, and letters are harmless there."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client

from tests.factories import MailboxMessageFactory

pytestmark = pytest.mark.django_db

SEES = ("view_delivery", "view_subscription")
RAW = (
    b"From: letters@sender.example\r\nTo: ada@example.org\r\nSubject: A letter\r\n"
    b"Content-Type: multipart/alternative; boundary=b\r\n\r\n"
    b"--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nIn text: https://letters.example/confirm/abc/\r\n"
    b"--b\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<h1>In html</h1><script>1</script>\r\n--b--\r\n"
)


@pytest.fixture
def staff(client: Client, settings: Any) -> Client:
    settings.EMBEDDED = True
    settings.EMAIL_URL = "mailbox:"
    admin = get_user_model().objects.create_user("admin", is_staff=True)
    admin.user_permissions.set(Permission.objects.filter(codename__in=SEES))
    client.force_login(admin)
    return client


@pytest.mark.parametrize("lost", SEES)
def test_who_may_not_see_subscribers_and_deliveries_sees_no_letter(staff: Client, lost: str) -> None:
    kept = MailboxMessageFactory(raw=RAW)
    left = Permission.objects.filter(codename__in=SEES).exclude(codename=lost)
    get_user_model().objects.get().user_permissions.set(left)
    for path in ("/mailbox/", f"/mailbox/{kept.pk}/", f"/mailbox/{kept.pk}/html/"):
        answer = staff.get(path)
        assert answer.status_code == 403
        assert "ada@example.org" not in answer.content.decode()


def test_letters_are_listed_and_the_page_says_they_are_not_sent(staff: Client) -> None:
    MailboxMessageFactory(subject="First letter")
    page = staff.get("/mailbox/").content.decode()
    assert "First letter" in page
    assert "Emails are kept here, not sent." in page


def test_with_a_mail_server_it_does_not_say_that(staff: Client, settings: Any) -> None:
    settings.EMAIL_URL = "smtp://localhost"
    assert "not sent" not in staff.get("/mailbox/").content.decode()


def test_a_letter_shows_html_text_and_headers(staff: Client) -> None:
    kept = MailboxMessageFactory(raw=RAW)
    page = staff.get(f"/mailbox/{kept.pk}/").content.decode()
    assert f'src="/mailbox/{kept.pk}/html/"' in page
    assert 'href="https://letters.example/confirm/abc/"' in page
    assert "letters@sender.example" in page
    assert "<script>1" not in page


def test_the_html_of_a_letter_stands_in_a_sandbox(staff: Client) -> None:
    kept = MailboxMessageFactory(raw=RAW)
    answer = staff.get(f"/mailbox/{kept.pk}/html/")
    assert "<h1>In html</h1>" in answer.content.decode()
    policy = answer["Content-Security-Policy"]
    assert policy.startswith("sandbox ")
    assert "allow-scripts" not in policy
    assert "allow-same-origin" not in policy
    assert answer["X-Frame-Options"] == "SAMEORIGIN"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe\x00",
        b"Content-Type: text/html; charset=nonsense\r\n\r\n<p>x\xff</p>",
        b"Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!",
        b"Subject: =?utf-8?q?=ff?=\r\nTo: <<<>>\r\nDate: never\r\n\r\nx",
    ],
)
def test_a_broken_message_is_shown_as_far_as_it_can_be_read(staff: Client, raw: bytes) -> None:
    kept = MailboxMessageFactory(raw=raw)
    assert staff.get(f"/mailbox/{kept.pk}/").status_code == 200
    assert staff.get(f"/mailbox/{kept.pk}/html/").status_code == 200


def test_nobody_else_sees_it(client: Client, settings: Any) -> None:
    settings.EMBEDDED = True
    kept = MailboxMessageFactory(raw=RAW)
    paths = ["/mailbox/", f"/mailbox/{kept.pk}/", f"/mailbox/{kept.pk}/html/"]
    assert {client.get(path).status_code for path in paths} == {302}
    client.force_login(get_user_model().objects.create_user("reader"))
    assert {client.get(path).status_code for path in paths} == {302}


def test_it_exists_only_where_the_program_runs_embedded(staff: Client, settings: Any) -> None:
    settings.EMBEDDED = False
    assert staff.get("/mailbox/").status_code == 404
