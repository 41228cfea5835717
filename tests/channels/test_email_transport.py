from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from hypothesis import given
from hypothesis import strategies as st

from channels.base import LaneFacts, Temporary
from channels.email.account_url import Mailbox, parse_email_url
from channels.email.channel import EmailChannel
from channels.email.session import BlockingSmtpSession, MailboxSession
from channels.email.smtp_login import SmtpSettings
from delivery.checks import check_email
from tests.channels.email_letters import message, send

LANE = LaneFacts("email", "default")
WRONG = [
    "", "mail.example.org", "http://h", "smtp:", "smtp://", "smtp://:25", "smtp://h:0", "smtp://h:99999",
    "smtp://h:port", "smtp://u:s3cret@", "smtp://u@h", "smtp://:s3cret@h", "smtp://u:s3cret#x@h",
    "smtp://u:s3cret/x@h", "smtp://u:s3cret?x@h", "smtp://u:s3cret x@h", "smtp://u:s3cret\n@h",
    "smtp://u:s3cret@h/path", "smtp://u:s3cret@[h", "mailbox:x", "s3cret",
]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("mailbox:", Mailbox()),
        ("smtp://mail.example.org", SmtpSettings("mail.example.org", 25)),
        ("smtp://127.0.0.1:1025/", SmtpSettings("127.0.0.1", 1025)),
        ("SMTP://[::1]:1025", SmtpSettings("::1", 1025)),
        ("smtps://u:p@h", SmtpSettings("h", 465, "u", "p", "implicit")),
        ("smtp+starttls://u:p@h", SmtpSettings("h", 587, "u", "p", "starttls")),
        (
            "smtp+starttls://a%40b.org:p%2F%23%3A%40@h:2525",
            SmtpSettings("h", 2525, "a@b.org", "p/#:@", "starttls"),
        ),
        ("smtp://a@b.org:p@ss@h", SmtpSettings("h", 25, "a@b.org", "p@ss")),
    ],
)
def test_an_email_url_is_read(url: str, expected: SmtpSettings | Mailbox) -> None:
    assert parse_email_url(url) == expected


@pytest.mark.parametrize("url", WRONG)
def test_a_wrong_email_url_is_refused_by_name_and_without_its_secrets(url: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        parse_email_url(url)
    said = str(caught.value)
    assert "EMAIL_URL" in said
    assert "smtp+starttls://" in said
    assert "s3cr" not in said
    assert caught.value.__cause__ is None


@given(st.text())
def test_any_other_text_is_refused_too(url: str) -> None:
    with pytest.raises(ImproperlyConfigured):
        parse_email_url(url)


def test_the_password_is_not_part_of_what_is_shown() -> None:
    assert "s3cret" not in repr(parse_email_url("smtp://u:s3cret@h"))


def test_the_url_is_read_at_use(settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"
    assert isinstance(EmailChannel().connect(LANE), MailboxSession)
    settings.EMAIL_URL = "smtp://127.0.0.1:1"
    assert isinstance(EmailChannel().connect(LANE), BlockingSmtpSession)


def test_with_a_wrong_url_letters_wait_and_say_why(settings: Any) -> None:
    settings.EMAIL_URL = "smtp://u:s3cret@h:port"
    outcome = EmailChannel().connect(LANE).send(message(), key="k", begun_at=None, now=None)  # type: ignore[arg-type]
    assert isinstance(outcome, Temporary)
    assert outcome.stops_lane
    assert "EMAIL_URL" in outcome.text
    assert "s3cret" not in outcome.text


@pytest.mark.parametrize(
    ("url", "sender", "ids"),
    [
        ("mailbox:", "Feedletter <letters@127.0.0.1>", []),
        ("smtp://127.0.0.1:25", "letters@localhost", []),
        ("smtps://u:p@mail.example.org", "letters@example.org", []),
        ("", "letters@example.org", ["delivery.W001"]),
        ("smtp://h:port", "letters@example.org", ["delivery.E001"]),
        ("smtp://u:p@mail.example.org", "letters@example.org", ["delivery.W002"]),
        ("smtps://u:p@mail.example.org", "letters@127.0.0.1", ["delivery.W003"]),
        ("mailbox:", "letters", ["delivery.E002"]),
    ],
)
def test_the_system_check_names_what_is_wrong(settings: Any, url: str, sender: str, ids: list[str]) -> None:
    settings.EMAIL_URL, settings.DEFAULT_FROM_EMAIL = url, sender
    assert [found.id for found in check_email(None)] == ids


def test_the_mailbox_keeps_the_message_as_it_would_have_gone_out() -> None:
    outcome = send(MailboxSession())  # type: ignore[arg-type]
    assert outcome.stored.startswith(b"Date: Wed, 04 Mar 2026 05:06:07 +0000\r\n")  # type: ignore[union-attr]
