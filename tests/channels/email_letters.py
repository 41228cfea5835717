"""Letters, recipients and sessions for the email channel's tests."""

from datetime import UTC, datetime
from typing import Any

from channels.base import Outcome
from channels.email.account_url import parse_email_url
from channels.email.letter_form import WireLetter
from channels.email.mail_message import MailMessage
from channels.email.session import BlockingSmtpSession
from channels.email.smtp_connection import Timeouts
from channels.email.smtp_login import SmtpSettings
from channels.letter import Letter, Recipient

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
# For tests in which a server intentionally stops responding.
IMPATIENT = Timeouts(connect=0.4, reply=0.4, message=0.4, quit=0.1)
PATIENT = Timeouts(connect=20, reply=20, message=20, quit=0.5)


def letter(**changes: Any) -> Letter:
    fields: dict[str, Any] = {
        "kind": "issue",
        "newsletter": "example-weekly",
        "newsletter_title": "Example Weekly",
        "title": "Bees, and other posts",
        "subject": "A post about bees",
        "html": "<p>A post about bees</p>",
        "text": "A post about bees",
        "token": "t0ken",
        "from_email": "Example <letters@example.org>",
        "archive_url": "https://letters.example.org/s/example-weekly/archive/1/",
        "language": "en",
    }
    return Letter(**(fields | changes))


def recipient(**changes: Any) -> Recipient:
    fields: dict[str, Any] = {
        "delivery_id": 7,
        "core": "ada@example.test",
        "label": "Ada@example.test",
        "name": "Ada Lovelace",
        "config": {"address": "Ada@example.test"},
        "unsubscribe_url": "https://letters.example.org/unsubscribe/abc123/",
        "manage_url": "https://letters.example.org/manage/abc123/",
    }
    return Recipient(**(fields | changes))


def compose_mail(letter: Letter, recipient: Recipient, **options: Any) -> MailMessage:
    return WireLetter(letter, **options).message(recipient)


def message(to: str = "ada@example.test", **changes: Any) -> MailMessage:
    to_whom = recipient(core=to, label=to, config={"address": to})
    return compose_mail(letter(**changes), to_whom, site_host="letters.example.org")


def session(url: str, **options: Any) -> BlockingSmtpSession:
    target = parse_email_url(url)
    assert isinstance(target, SmtpSettings)
    return BlockingSmtpSession(target, **{"helo": "letters.example.org", "timeouts": PATIENT, **options})


def send(to: BlockingSmtpSession, mail: MailMessage | None = None) -> Outcome:
    return to.send(mail or message(), key="key-1", begun_at=None, now=NOW)
