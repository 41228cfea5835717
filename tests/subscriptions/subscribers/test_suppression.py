"""Suppressed addresses, and the proof of consent.

The proof of consent.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from subscriptions.lists.importer import import_suppressions
from subscriptions.models import Consent, Destination, Notice, Subscription, Suppression
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers.admin_changes import subscribe
from subscriptions.subscribers.consent import LONGEST_WORDS, consent, record_consents
from subscriptions.subscribers.sign_up import confirm_subscriptions, sign_up
from subscriptions.subscribers.suppression import MAX_REASON, lift, suppress
from tests.console import json_of, printed, refused
from tests.factories import (
    NOW,
    DestinationFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
)

LATER = NOW + timedelta(minutes=5)
WORDS = "Subscribe to Example Weekly. You get one mail to confirm."
READER = Origin(How.WIDGET, ip="203.0.113.7", words=WORDS)
pytestmark = pytest.mark.django_db


def test_the_first_reason_stays() -> None:
    assert suppress(kind="email", core="ada@example.org", reason="550 no\r\nsuch user", now=NOW)
    assert not suppress(kind="email", core="ada@example.org", reason="another", now=NOW)
    row = Suppression.objects.get()
    assert (row.reason, row.created_at) == ("550 no such user", NOW)


def test_a_reason_has_an_end() -> None:
    suppress(kind="email", core="ada@example.org", reason="x" * 5000, now=NOW)
    assert len(Suppression.objects.get().reason) == MAX_REASON


def test_who_is_taken_off_the_list_is_written_to_again() -> None:
    row = SuppressionFactory(core="ada@example.org")
    SuppressionFactory()
    off = {"disabled_at": NOW, "disabled_reason": "550 5.1.1"}
    DestinationFactory(core="ada@example.org", **off)
    DestinationFactory(core="bo@example.org", **off)
    assert lift(suppressions=[row]) == 1
    assert Suppression.objects.count() == 1
    assert dict(Destination.objects.values_list("core", "disabled_reason")) == {
        "ada@example.org": "",
        "bo@example.org": "550 5.1.1",
    }


def test_a_list_of_another_program_is_taken_over_once() -> None:
    lines = [
        "email;reason\n",
        "Ada@Example.org;bounced\n",
        "ada@example.org;again\n",
        "bo@example.org\n",
        "x\n",
    ]
    report = import_suppressions(lines=lines, now=NOW)
    assert (report.added, report.unchanged, [each.line for each in report.refused]) == (2, 1, [5])
    assert "an email address" in report.refused[0].reason
    rows = dict(Suppression.objects.values_list("core", "reason"))
    assert rows == {"ada@example.org": "bounced", "bo@example.org": "imported"}
    again = import_suppressions(lines=lines[:4], now=NOW)
    assert (again.added, again.unchanged) == (0, 3)


def test_a_long_list_is_stored_in_pieces() -> None:
    lines = ["email\n", *(f"a{number}@example.org\n" for number in range(1203))]
    assert import_suppressions(lines=lines, now=NOW).added == Suppression.objects.count() == 1203


def test_what_is_no_list_is_refused() -> None:
    with pytest.raises(ValidationError, match="first line"):
        import_suppressions(lines=["address,reason\n", "ada@example.org,bounced\n"], now=NOW)


def test_a_list_of_nothing_but_addresses_needs_no_first_line() -> None:
    assert import_suppressions(lines=["ada@example.org\n", "ben@example.org\n"], now=NOW).added == 2


def test_the_command_tells_what_it_did(tmp_path: Path) -> None:
    file = tmp_path / "list.csv"
    file.write_text("email,reason\nada@example.org,bounced\nx,\n", encoding="utf-8")
    assert json_of("import_suppressions", str(file))["added"] == 1
    said = printed("import_suppressions", str(file))
    assert said.startswith("0 added, 1 unchanged, 1 refused.\nLine 3: ")
    assert "cannot be read" in refused("import_suppressions", str(tmp_path / "none"))


def test_the_admin_takes_an_address_off_the_list(admin_client: Client) -> None:
    row = SuppressionFactory(core="ada@example.org")
    url = reverse("admin:subscriptions_suppression_changelist")
    assert "ada@example.org" in admin_client.get(url, {"q": "ada"}).content.decode()
    answer = admin_client.post(url, {"action": "lift", "_selected_action": [row.pk]}, follow=True)
    assert "can be emailed again." in answer.content.decode()
    assert not Suppression.objects.exists()


def test_the_admin_puts_an_address_on_the_list(admin_client: Client) -> None:
    url = reverse("admin:subscriptions_suppression_add")
    admin_client.post(url, {"kind": "email", "core": "Ada@Example.org", "reason": "asked for it"})
    assert Suppression.objects.get().core == "ada@example.org"


def ask(letter: Any, **facts: Any) -> None:
    usual = {"email": "ada@example.org", "name": "", "origin": READER, "now": NOW}
    sign_up(**{"subscribables": [letter], **usual, **facts})


def token() -> str:
    return str(Notice.objects.latest("pk").context["confirm_url"]).rstrip("/").rpartition("/")[2]


def test_asking_and_confirming_are_kept_with_when_how_and_the_words() -> None:
    ask(SubscribableFactory(title="Example Weekly"))
    confirm_subscriptions(token=token(), now=LATER, origin=Origin(How.PAGE, ip="203.0.113.8"))
    asked, confirmed = Consent.objects.all()
    assert (asked.act, asked.at, asked.how, asked.words) == ("asked", NOW, "widget", WORDS)
    assert (confirmed.act, confirmed.at, confirmed.how) == ("confirmed", LATER, "page")
    assert confirmed.words == "Example Weekly will be sent to ada@example.org. Confirm"


def test_the_internet_address_is_kept_only_where_the_newsletter_says_so() -> None:
    ask(SubscribableFactory())
    assert Consent.objects.get().ip is None
    ask(SubscribableFactory(keep_ip=True))
    confirm_subscriptions(token=token(), now=LATER, origin=Origin(ip="2001:db8::1"))
    kept = Consent.objects.filter(subscription__subscribable__keep_ip=True)
    assert list(kept.values_list("ip", flat=True)) == ["203.0.113.7", "2001:db8::1"]


def test_what_a_web_server_says_instead_of_an_address_is_not_kept() -> None:
    ask(SubscribableFactory(keep_ip=True), origin=Origin(ip="unix:"))
    assert Consent.objects.get().ip is None


def test_a_second_confirmation_is_no_second_consent() -> None:
    ask(SubscribableFactory())
    link = token()
    for _ in range(2):
        confirm_subscriptions(token=link, now=LATER)
    assert Consent.objects.filter(act="confirmed").count() == 1


def test_a_stranger_who_types_the_address_of_a_subscriber_proves_nothing() -> None:
    there = SubscriptionFactory()
    ask(there.subscribable, email=there.destination.core)
    assert Notice.objects.get().template == "already"
    assert not Consent.objects.exists()


def test_an_admin_who_adds_somebody_says_that_they_agreed() -> None:
    letter = SubscribableFactory(keep_ip=True)
    for _ in range(2):
        subscribe(subscribable=letter, data={"email": "ada@example.org"}, now=NOW)
    kept = Consent.objects.get()
    assert (kept.act, kept.how, kept.ip) == ("added", "admin", None)
    assert "admin" in kept.words
    subscribe(subscribable=letter, data={"email": "bea@example.org"}, now=NOW, confirmed=False)
    assert Consent.objects.latest("pk").act == "asked"


def test_the_words_have_an_end() -> None:
    ask(SubscribableFactory(), origin=Origin(words="w" * 100_000))
    assert len(Consent.objects.get().words) == LONGEST_WORDS


def test_consents_of_a_list_are_kept_by_few_statements(django_assert_max_num_queries: Any) -> None:
    rows = SubscriptionFactory.create_batch(30, subscribable=SubscribableFactory())
    origin, act = Origin(How.LIST, words="at the fair"), Consent.Act.IMPORTED
    with django_assert_max_num_queries(1):
        record_consents(consent(row, act, origin, at=NOW) for row in rows)
    assert Consent.objects.filter(act="imported", words="at the fair").count() == 30


def test_consents_go_with_the_subscription() -> None:
    ask(SubscribableFactory())
    Subscription.objects.all().delete()
    assert not Consent.objects.exists()
