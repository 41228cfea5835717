"""Unsubscribing by mail, whatever way it arrives; everything else is a report."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from delivery.bounces.sources import collect_bounces, take_mail
from delivery.engine.send_pass import send_due
from delivery.management import bounces as bounce_commands
from delivery.models import Bounce
from subscriptions.links import manage_url, unsubscribe_url
from subscriptions.models import Subscription
from tests.console import json_of
from tests.delivery.bounces.mails import dsn, failed
from tests.delivery.bounces.test_record import back, sent
from tests.delivery.bounces.test_sources import a_maildir, mail
from tests.delivery.ledger import Clock, queued
from tests.factories import NOW, SubscriptionFactory
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db
LEAVE = "leave@bounces.example"
APPLE_MAIL = Path(__file__).parents[2] / "fixtures" / "leaving" / "apple_mail.eml"


@pytest.fixture(autouse=True)
def _bounce_domain(settings: Any) -> None:
    settings.BOUNCE_DOMAIN = "bounces.example"


def a_subscription(**changes: Any) -> Subscription:
    made: Subscription = SubscriptionFactory(**changes)
    return made


def token(subscription: Subscription) -> str:
    return unsubscribe_url(subscription).rstrip("/").rpartition("/")[2]


def status(subscription: Subscription) -> str:
    subscription.refresh_from_db()
    return subscription.status


def test_who_writes_to_leave_has_left_this_newsletter_only_and_once() -> None:
    ours = a_subscription()
    other = a_subscription(destination=ours.destination)
    first = take_mail(raw=mail(token(ours), LEAVE), now=NOW)
    again = take_mail(raw=mail(token(ours), LEAVE), now=NOW)
    assert (first.kind, first.effect) == ("leaving", f"Left: {ours.subscribable}.")
    assert again.effect == f"Had left already: {ours.subscribable}."
    assert (status(ours), ours.left_at) == ("unsubscribed", NOW)
    assert status(other) == "confirmed"
    assert not Bounce.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_the_link_of_a_letter_that_was_sent_ends_it(smtp: SmtpServer) -> None:
    (row,) = queued()
    assert send_due(clock=Clock()).sent == 1
    by_mail = str(smtp.messages[0].email["List-Unsubscribe"]).partition("mailto:")[2].rstrip(">")
    address, _, subject = by_mail.partition("?subject=")
    assert address == LEAVE
    assert take_mail(raw=mail(subject, address), now=NOW).effect.startswith("Left: ")
    assert row.subscription is not None
    assert status(row.subscription) == "unsubscribed"


def test_a_token_for_something_else_or_of_nobody_ends_nothing() -> None:
    ours, other = a_subscription(), a_subscription()
    manage = manage_url(ours).rstrip("/").rpartition("/")[2]
    mixed = f"{ours.pk}-{token(other).partition('-')[2]}"
    for subject in (manage, mixed, f"{ours.pk}-{'0' * 32}", "999999-" + "0" * 32, "please", ""):
        assert take_mail(raw=mail(subject, LEAVE), now=NOW).effect == "Ignored: it names no subscription."
    assert status(ours) == status(other) == "confirmed"
    assert not Bounce.objects.exists()


def test_the_pipe_takes_both_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, row = a_subscription(), sent("ada@example.org")
    said = piped(monkeypatch, mail("", "x@y.example"), f"leave+{token(ours).upper()}@BOUNCES.example")
    assert said == {"kind": "leaving", "effect": f"Left: {ours.subscribable}.", "id": None}
    raw = dsn(failed("ada@example.org"), to=back(row))
    assert piped(monkeypatch, raw, back(row))["kind"] == "hard"
    assert status(ours) == "unsubscribed"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("by_address", [False, True])
def test_apple_mails_way_to_leave_ends_the_subscription(
    by_address: bool, smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = queued()
    assert send_due(clock=Clock()).sent == 1
    by_mail = str(smtp.messages[0].email["List-Unsubscribe"]).partition("mailto:")[2].rstrip(">")
    address, _, subject = by_mail.partition("?subject=")
    if by_address:
        address, subject = address.replace("@", f"+{subject}@"), "unsubscribe"
    raw = APPLE_MAIL.read_bytes().replace(b"TO", address.encode()).replace(b"SUBJECT", subject.encode())
    assert piped(monkeypatch, raw, address)["kind"] == "leaving"
    assert row.subscription is not None
    assert status(row.subscription) == "unsubscribed"
    assert piped(monkeypatch, raw, "")["effect"].startswith("Had left already: ")


def piped(monkeypatch: pytest.MonkeyPatch, raw: bytes, recipient: str) -> dict[str, Any]:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    monkeypatch.setattr(bounce_commands, "utcnow", lambda: NOW)
    answer: dict[str, Any] = json_of("handle_bounce", "--recipient", recipient)
    return answer


def test_the_mailbox_holds_both_kinds(tmp_path: Path, settings: Any) -> None:
    ours, row = a_subscription(), sent("ada@example.org")
    mails = [
        mail(f"Re: {token(ours)}", LEAVE),
        dsn(failed("ada@example.org"), to=back(row)),
        mail("?", LEAVE),
    ]
    settings.BOUNCE_URL = f"maildir://{a_maildir(tmp_path / 'box', *mails)}"
    assert collect_bounces(clock=Clock()) == {"leaving": 2, "hard": 1}
    assert collect_bounces(clock=Clock()) == {}
    assert status(ours) == "unsubscribed"
