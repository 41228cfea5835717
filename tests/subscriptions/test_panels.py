"""Deleting feeds in the admin: the effect is shown before.

Sign-ups in the admin.
"""

import pytest
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from common.rates import CROWD, Limit, OverLimit
from feeds.models import Feed
from subscriptions.models import Consent
from subscriptions.panels import users_of_feeds
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers.antispam import note_refusal
from subscriptions.subscribers.consent import consent, record_consents
from tests.factories import (
    NOW,
    BridgeFactory,
    FeedFactory,
    ItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
)

pytestmark = pytest.mark.django_db
LIST = "/admin/feeds/feed/"


def test_what_is_on_its_way_goes_out_first_and_the_page_says_so(admin_client: Client) -> None:
    read, idle = FeedFactory(title="Harbour"), FeedFactory(title="Quiet")
    SubscribableFactory(feeds=[read])
    ItemFactory(feed=read, state="assigned")
    ItemFactory(feed=read)
    asked = {"action": "drop", "_selected_action": [read.pk, idle.pk]}
    said = admin_client.post(LIST, asked).content.decode()
    assert "“Harbour” is deleted, with its 2 posts. 1 post waiting in next issues" in said
    assert "“Quiet” is deleted, with its 0 posts. 0 newsletters" in said
    admin_client.post(LIST, {**asked, "confirmed": "1"})
    assert list(Feed.objects.values_list("title", "dropping")) == [("Harbour", True)]


def test_the_list_of_feeds_says_who_uses_each(admin_client: Client) -> None:
    both = FeedFactory(read_by=3)
    SubscribableFactory(feeds=[both])
    SubscribableFactory(feeds=[both])
    BridgeFactory(feeds=[both])
    unused = FeedFactory()
    assert users_of_feeds([both, unused]) == {
        both.pk: "2 newsletters · 1 bridge · 3 readers",
        unused.pk: "nobody",
    }
    assert "2 newsletters · 1 bridge · 3 readers" in admin_client.get("/admin/feeds/feed/").content.decode()


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
