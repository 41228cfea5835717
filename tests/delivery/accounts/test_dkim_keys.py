"""DKIM keys: created, looked up, and rotated.

Letters signed while sending: over a real mail server, and into the mailbox.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection
from django.test.utils import CaptureQueriesContext

from channels.email.dkim.keys import generate, public_value, to_pem
from common.secrets import Sealed
from delivery.accounts import dkim_keys
from delivery.accounts.dkim_keys import (
    SigningKeys,
    activate_key,
    delete_retired,
    find_key,
    make_key,
    retire_key,
)
from delivery.engine.send_pass import send_due
from delivery.models import Delivery, DkimKey, MailboxMessage
from tests.channels.dkim.samples import some_text
from tests.channels.dkim.verifying import verified
from tests.delivery.ledger import Clock, a_mail, queued, states
from tests.factories import NOW, IssueFactory, SubscribableFactory
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(days=1)


def made(domain: str = "example.org", algorithm: str = "ed25519", **changes: Any) -> DkimKey:
    return make_key(domain=domain, algorithm=algorithm, now=NOW, **changes)


def selectors(sender: str) -> list[str]:
    return [f"{key.selector}.{key.domain}" for key in SigningKeys().of(sender)]


def test_the_first_key_of_a_domain_signs_at_once_and_the_next_waits() -> None:
    assert [made().state, made().state] == ["active", "waiting"]
    assert selectors("a@example.org") == ["feedletter-ed25519.example.org"]


def test_the_database_holds_no_readable_private_key() -> None:
    key = made()
    assert isinstance(DkimKey.objects.get().private, Sealed)
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM delivery_dkimkey")
        assert "PRIVATE KEY" not in repr(cursor.fetchall())
    assert "PRIVATE KEY" not in repr(key)


def test_the_record_belongs_to_the_key_that_signs() -> None:
    key = made()
    (signing,) = SigningKeys().of("a@example.org")
    assert key.record.value.endswith(public_value(signing.private))


def test_a_key_that_waits_takes_over_and_the_other_retires() -> None:
    first, second = made(), made()
    activate_key(second, now=LATER)
    first.refresh_from_db()
    assert (first.state, first.retired_at, second.state) == ("retired", LATER, "active")
    assert selectors("a@example.org") == ["feedletter-ed25519-2.example.org"]
    activate_key(first, now=LATER)
    assert selectors("a@example.org") == ["feedletter-ed25519.example.org"]


def test_a_retired_key_signs_no_more_and_may_be_deleted() -> None:
    key, other = made(), made("other.example")
    assert delete_retired([key.pk]) == 0
    retire_key(key, now=LATER)
    assert selectors("a@example.org") == []
    assert delete_retired([key.pk, other.pk]) == 1
    with pytest.raises(ValidationError, match="no longer exists"):
        activate_key(key, now=LATER)


def test_the_database_allows_one_active_key_of_a_domain_and_algorithm() -> None:
    made()
    waiting = made()
    with pytest.raises(IntegrityError):
        DkimKey.objects.filter(pk=waiting.pk).update(active=True)


def test_both_algorithms_sign_side_by_side_rsa_first() -> None:
    made()
    made(algorithm="rsa")
    assert selectors("Example <a@example.org>") == [
        "feedletter.example.org",
        "feedletter-ed25519.example.org",
    ]


@pytest.mark.parametrize(
    ("sender", "signer"),
    [
        ("a@example.org", "example.org"),
        ("a@news.example.org", "news.example.org"),
        ("a@x.news.example.org", "news.example.org"),
        ("a@other.example.org", "example.org"),
        ("A <a@EXAMPLE.org>", "example.org"),
        ("a@badexample.org", ""),
        ("a@org", ""),
        ("no address", ""),
    ],
)
def test_the_senders_domain_signs_or_the_nearest_above_it(sender: str, signer: str) -> None:
    made(selector="s")
    made("news.example.org", selector="s")
    assert selectors(sender) == ([f"s.{signer}"] if signer else [])


def test_an_international_domain_is_kept_as_dns_has_it() -> None:
    assert made("Bücher.example").domain == "xn--bcher-kva.example"
    assert selectors("a@bücher.example") == ["feedletter-ed25519.xn--bcher-kva.example"]
    assert find_key(domain="bücher.example") is not None


def test_a_key_of_ones_own_can_be_brought_along() -> None:
    private = generate("rsa")
    key = make_key(domain="example.org", selector="old", pem=to_pem(private).encode(), now=NOW)
    assert (key.algorithm, key.public) == ("rsa", public_value(private))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"domain": "no domain"}, "domain"),
        ({"domain": ""}, "domain"),
        ({"selector": "a b"}, "selector"),
        ({"selector": "-a"}, "selector"),
        ({"selector": "a" * 64}, "selector"),
        ({"selector": "a;d=evil.example"}, "selector"),
        ({"selector": "taken"}, "selector"),
        ({"algorithm": "dsa"}, "algorithm"),
        ({"pem": b"nonsense"}, "import"),
        ({"domain": ".".join(["a" * 60] * 4)}, "selector"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field(given: dict[str, Any], field: str) -> None:
    made(selector="taken")
    with pytest.raises(ValidationError) as refused:
        made(**given)
    assert list(refused.value.message_dict) == [field]
    assert DkimKey.objects.count() == 1


def test_a_pem_of_another_kind_than_asked_is_refused() -> None:
    with pytest.raises(ValidationError, match="another kind: ed25519"):
        make_key(domain="example.org", algorithm="rsa", pem=to_pem(generate("ed25519")).encode(), now=NOW)


def test_keys_are_read_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = SigningKeys()
    with CaptureQueriesContext(connection) as queries:
        for _ in range(100):
            assert keys.of("a@example.org") == ()
    assert len(queries) == 1
    made()
    assert keys.of("a@example.org") == ()
    monkeypatch.setattr(dkim_keys, "FRESH_SECONDS", 0.0)
    assert len(keys.of("a@example.org")) == 1


def test_a_key_that_cannot_be_read_says_what_to_do(settings: Any) -> None:
    made()
    dkim_keys._loaded.cache_clear()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "a different key", []
    with pytest.raises(
        ValueError, match=r"DKIM key feedletter-ed25519 of example.org .*SECRET_KEY_FALLBACKS"
    ):
        SigningKeys().of("a@example.org")
    assert SigningKeys().of("a@elsewhere.example") == ()


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


@pytest.mark.django_db(transaction=True)
def test_letters_arrive_with_signatures_that_verify(smtp: SmtpServer, keys: list[DkimKey]) -> None:
    rows = some_letters(30)
    send()
    records = [key.record for key in keys]
    assert states() == {"sent": len(rows)}
    assert [verified(taken.data, records) for taken in smtp.messages] == [[True, True]] * len(rows)


@pytest.mark.django_db(transaction=True)
def test_kept_letters_are_signed_too(mailbox: None, keys: list[DkimKey]) -> None:
    some_letters(1)
    send()
    raw = [bytes(kept.raw) for kept in MailboxMessage.objects.all()]
    assert [verified(each, [key.record for key in keys]) for each in raw] == [[True, True]] * 2


@pytest.mark.django_db(transaction=True)
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


@pytest.mark.django_db(transaction=True)
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
