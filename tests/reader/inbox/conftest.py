from collections.abc import Callable
from email.message import EmailMessage
from typing import Any

import pytest
from django.core.cache import cache

from reader.inbox.addresses import add_address
from reader.models import MailAddress, Reader
from tests.factories import NOW

SECOND_DATABASE = True
DOMAIN = "in.example"


@pytest.fixture(autouse=True)
def mail_is_received(settings: Any) -> None:
    settings.BOUNCE_DOMAIN = DOMAIN
    cache.clear()


@pytest.fixture
def address(ada: Reader) -> MailAddress:
    return add_address(reader=ada, channel=None, asks_first=False, now=NOW)


def newsletter(
    to: str = "",
    *,
    subject: str = "The first issue",
    html: str = "<p>Hello</p>",
    sender: str = '"Jane Doe" <jane@news.example>',
    change: Callable[[EmailMessage], Any] = lambda message: None,
    **fields: str,
) -> bytes:
    """Return a message with a text and html; underscores of `fields` are hyphens."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, to or "reader@in.example", subject
    given = {
        "Date": "Sun, 01 Mar 2026 10:00:00 +0000",
        "Message_ID": f"<{subject.replace(' ', '.')}@news.example>",
    }
    for name, value in {**given, **fields}.items():
        message[name.replace("_", "-")] = value
    message.set_content("In plain words")
    message.add_alternative(html, subtype="html")
    change(message)
    return message.as_bytes()
