"""Mail to readers in the mailbox that has bounces, too."""

from datetime import timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from delivery.bounces import sources
from delivery.bounces.sources import collect_bounces, take_mail
from reader.inbox.addresses import recipient_of
from reader.models import Entry, MailAddress, TimelineEntry
from tests.delivery.bounces.mails import QMAIL
from tests.delivery.bounces.test_sources import a_maildir
from tests.factories import NOW
from tests.reader.inbox.conftest import newsletter
from tests.servers.mail_servers import ImapServer, MailServer, Pop3Server


def names() -> list[str]:
    return list(TimelineEntry.objects.order_by("pk").values_list("entry__jf2__name", flat=True))


def with_file(size: int) -> Any:
    def attach(message: EmailMessage) -> None:
        message.add_attachment(b"x" * size, maintype="application", subtype="pdf", filename="a.pdf")

    return attach


@pytest.mark.parametrize("kind", [ImapServer, Pop3Server])
def test_a_mailbox_has_bounces_and_newsletters(
    kind: type[MailServer], address: MailAddress, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    to = recipient_of(address)
    monkeypatch.setattr(sources, "MAX_MAIL_BYTES", 10_000)
    # Longer than what is read of a bounce.
    mails = [newsletter(to), QMAIL, newsletter(to, subject="Second", change=with_file(30_000))]
    with kind(mails) as server:
        settings.BOUNCE_URL = server.url
        counts = collect_bounces(clock=lambda: NOW)
        assert counts == {"reading": 2, "unknown": 1}
        assert collect_bounces(clock=lambda: NOW) == {}
    assert names() == ["The first issue", "Second"]
    assert "a.pdf (30 kB)" in str((Entry.objects.latest("pk").jf2 or {})["content"])


def test_what_is_too_large_is_marked_and_noted(
    address: MailAddress, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "MAX_WHOLE_BYTES", 30_001)
    monkeypatch.setattr("reader.rules.mail_posts.MAX_RAW", 30_000)
    box = a_maildir(tmp_path / "box", newsletter(recipient_of(address), change=with_file(30_000)))
    settings.BOUNCE_URL = f"maildir://{box}"
    assert collect_bounces(clock=lambda: NOW, budget=timedelta(seconds=20)) == {"reading": 1}
    assert list((box / "new").iterdir()) == []
    address.refresh_from_db()
    assert address.problem == "large"


@pytest.mark.parametrize("field", ["Delivered-To", "X-Original-To", "Cc", "Envelope-To"])
def test_the_header_may_name_the_address(address: MailAddress, field: str) -> None:
    raw = f"{field}: <{recipient_of(address)}>\n".encode() + newsletter("someone@else.example")
    assert take_mail(raw=raw, now=NOW).effect == "Stored."


def test_the_envelope_counts_before_the_header(address: MailAddress, settings: Any) -> None:
    to = recipient_of(address)
    other = to.replace("+", "-")
    assert take_mail(raw=newsletter("else@in.example"), now=NOW, recipient=other).effect == "Stored."
    taken = take_mail(raw=newsletter(to), now=NOW, recipient="leave@in.example")
    assert taken.kind == "leaving"
    settings.BOUNCE_DOMAIN = ""
    assert take_mail(raw=newsletter(to), now=NOW).kind == "unknown"
