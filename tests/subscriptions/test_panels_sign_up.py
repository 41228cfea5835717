"""Sign-ups in the admin."""

import pytest
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from common.rates import CROWD, Limit, OverLimit
from subscriptions.models import Consent
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers.antispam import note_refusal
from subscriptions.subscribers.consent import consent, record_consents
from tests.factories import NOW, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db


def page(client: Client, row: object, model: str) -> str:
    url = reverse(f"admin:subscriptions_{model}_change", args=[row.pk])  # type: ignore[attr-defined]
    url += "?tab=subscribers"
    return client.get(url).content.decode()


def test_a_subscribers_page_shows_the_proof_of_consent(admin_client: Client) -> None:
    reader = SubscriptionFactory(subscribable=SubscribableFactory(keep_ip=True))
    origin = Origin(How.EMBED, ip="203.0.113.7", words="Yes, <b>please</b>.")
    record_consents([consent(reader, Consent.Act.ASKED, origin, at=NOW)])
    shown = page(admin_client, reader, "subscription")
    for said in (
        "How they agreed",
        "asked for it",
        "embed",
        "Yes, &lt;b&gt;please&lt;/b&gt;.",
        "203.0.113.7",
    ):
        assert said in shown
    assert shown.count("203.0.113.7") == 1


def test_a_newsletters_page_says_how_many_sign_ups_were_turned_away(admin_client: Client) -> None:
    letter = SubscribableFactory()
    assert "turned away" not in page(admin_client, letter, "subscribable")
    for _ in range(2):
        note_refusal(OverLimit(Limit(CROWD, 1), ""), subscribables=[letter], now=utcnow())
    shown = page(admin_client, letter, "subscribable")
    assert "2 sign-ups got no confirmation email" in shown
    assert "TRUSTED_PROXIES" in shown
