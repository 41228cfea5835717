"""Letters signed while sending: over a real mail server, and into the mailbox."""

from typing import Any

import pytest

from delivery.accounts import dkim_keys
from delivery.accounts.dkim_keys import make_key, retire_key
from delivery.engine.send_pass import send_due
from delivery.models import Delivery, DkimKey, MailboxMessage
from tests.channels.dkim.samples import some_text
from tests.channels.dkim.verifying import verified
from tests.delivery.ledger import Clock, a_mail, queued, states
from tests.factories import NOW, IssueFactory, SubscribableFactory
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def keys() -> list[DkimKey]:
    return [make_key(domain="sender.example", algorithm=name, now=NOW) for name in ("rsa", "ed25519")]


def some_letters(count: int) -> list[Delivery]:
    """Create letters with dots, long lines and many scripts, and a confirmation."""
    import random

    chance = random.Random(5)
    newsletter = SubscribableFactory(from_email="Žluť <letters@sender.example>")
    rows = [a_mail()]
    for number in range(count):
        text = f".{some_text(chance)}\n.\n"
        facts = {"within_type_id": str(number), "text": text, "html": f"<p>{text}</p>", "subject": text[:90]}
        rows += queued(issue=IssueFactory(subscribable=newsletter, **facts))
    Delivery.objects.filter(kind="confirmation").update(subscription=rows[1].subscription)
    return rows


def send() -> Any:
    return send_due(clock=Clock(NOW))


def test_letters_arrive_with_signatures_that_verify(smtp: SmtpServer, keys: list[DkimKey]) -> None:
    rows = some_letters(30)
    send()
    records = [key.record for key in keys]
    assert states() == {"sent": len(rows)}
    assert [verified(taken.data, records) for taken in smtp.messages] == [[True, True]] * len(rows)


def test_kept_letters_are_signed_too(mailbox: None, keys: list[DkimKey]) -> None:
    some_letters(1)
    send()
    raw = [bytes(kept.raw) for kept in MailboxMessage.objects.all()]
    assert [verified(each, [key.record for key in keys]) for each in raw] == [[True, True]] * 2


def test_a_signature_changes_nothing_below_it(smtp: SmtpServer, keys: list[DkimKey]) -> None:
    (row,) = queued(issue=IssueFactory(subscribable__from_email="letters@sender.example"))
    send()
    for key in keys:
        retire_key(key, now=NOW)
    Delivery.objects.filter(pk=row.pk).update(state="queued", sent_at=None)
    send()
    signed, plain = (taken.data for taken in smtp.messages)
    assert signed.endswith(plain)
    assert signed.startswith(b"DKIM-Signature: v=1; a=rsa-sha256;")


def test_another_domains_letters_go_unsigned(smtp: SmtpServer, keys: list[DkimKey]) -> None:
    queued(issue=IssueFactory(subscribable__from_email="letters@elsewhere.example"))
    send()
    assert b"DKIM-Signature" not in smtp.messages[0].data


@pytest.mark.django_db
def test_a_letter_whose_key_cannot_be_read_waits_and_does_not_go_unsigned(
    smtp: SmtpServer, keys: list[DkimKey], settings: Any
) -> None:
    (row,) = queued(issue=IssueFactory(subscribable__from_email="letters@sender.example"))
    dkim_keys._loaded.cache_clear()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a different key", []
    send()
    row.refresh_from_db()
    assert (row.state, smtp.messages) == ("deferred", [])
    assert "The DKIM key feedletter of sender.example can’t be used." in row.last_error
