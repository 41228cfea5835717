"""The proof of consent."""

from datetime import timedelta
from typing import Any

import pytest

from subscriptions.models import Consent, Notice, Subscription
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers.admin_changes import subscribe
from subscriptions.subscribers.consent import LONGEST_WORDS, consent, record_consents
from subscriptions.subscribers.sign_up import confirm_subscriptions, sign_up
from tests.factories import NOW, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
LATER = NOW + timedelta(minutes=5)
WORDS = "Subscribe to Example Weekly. You get one mail to confirm."
READER = Origin(How.WIDGET, ip="203.0.113.7", words=WORDS)


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
