"""Upstream's URLs: old forms and links work, require their proofs, and GET changes nothing."""

import hashlib
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import serializers
from django.test import Client
from django.utils import timezone

from subscriptions import links
from subscriptions.models import Consent, Notice, OldNumber, Subscription
from tests.examples import some_now
from tests.factories import (
    BridgeFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db

CREATE, CONFIRM, REMOVE = (f"/v0/subscription/{each}" for each in ("create", "confirm", "remove"))
SALT = "pepper"
TUTORIAL = {"subscribableName": "weekly", "addressPart": "ada@example.org", "displayNamePart": "Ada"}


@pytest.fixture(autouse=True)
def salted(settings: Any) -> None:
    settings.UPSTREAM_SALT = SALT


@pytest.fixture
def strict() -> Client:
    """Return a client with CSRF checks, as in production."""
    return Client(enforce_csrf_checks=True)


def invitation(number: int, suffix: str, salt: str = SALT) -> str:
    return hashlib.sha3_256(number.to_bytes(8, "big") + salt.encode() + suffix.encode()).hexdigest()


def link(path: str, number: int, proof: str = "") -> str:
    suffix = "ConfirmSuffix" if path == CONFIRM else "RemoveSuffix"
    return f"{path}?subscriptionId={number}&invitation={proof or invitation(number, suffix)}"


def status(subscription: Subscription) -> str:
    subscription.refresh_from_db()
    return subscription.status


def everything() -> str:
    return str(
        [
            serializers.serialize("json", model.objects.order_by("pk"))
            for model in (Subscription, Notice, Consent)
        ]
    )


def test_both_links_of_two_addresses_that_became_one_remove_it(strict: Client) -> None:
    for number in (42, 43):
        mine = SubscriptionFactory(upstream_id=number - 2)
        OldNumber.objects.create(subscription=mine, number=number)
        assert "You’re unsubscribed" in strict.post(link(REMOVE, number)).content.decode()
        assert status(mine) == "unsubscribed"


def test_an_old_link_removes_by_post_and_only_by_post(strict: Client) -> None:
    mine = SubscriptionFactory(upstream_id=42, subscribable__title="Example Weekly")
    shown = strict.get(link(REMOVE, 42))
    assert shown.status_code == 200
    assert "Unsubscribe from Example Weekly</button>" in shown.content.decode()
    assert status(mine) == "confirmed"
    done = strict.post(link(REMOVE, 42))
    assert done.status_code == 200
    assert "You’re unsubscribed" in done.content.decode()
    assert status(mine) == "unsubscribed"
    assert strict.post(link(REMOVE, 42)).status_code == 200


def test_the_parameters_may_come_in_the_form(strict: Client) -> None:
    mine = SubscriptionFactory(upstream_id=42)
    proof = invitation(42, "RemoveSuffix").upper()
    answer = strict.post(REMOVE, {"subscriptionId": " 42 ", "invitation": f"{proof}\n"})
    assert answer.status_code == 200
    assert status(mine) == "unsubscribed"


WRONG = [
    "",
    "0" * 64,
    "x",
    "a/b",
    "%2e%2e%2f",
    "é",
    invitation(42, "ConfirmSuffix"),
    invitation(43, "RemoveSuffix"),
    invitation(42, "RemoveSuffix", "salt"),
]


@pytest.mark.parametrize("proof", WRONG)
def test_removal_asks_for_its_proof(client: Client, proof: str) -> None:
    """Upstream required none: anyone could unsubscribe anyone by counting."""
    mine = SubscriptionFactory(upstream_id=42)
    where = f"{REMOVE}?subscriptionId=42"
    for answer in (client.get(where, {"invitation": proof}), client.post(f"{where}&invitation={proof}")):
        assert answer.status_code == 400
        assert mine.destination.label not in answer.content.decode()
        assert "Traceback" not in answer.content.decode()
    assert status(mine) == "confirmed"


@pytest.mark.parametrize("number", ["", "x", "-1", "1.5", "９", "9" * 19, "9" * 30, "1 or 1=1"])
def test_what_is_no_number_is_a_400(client: Client, number: str) -> None:
    query = {"subscriptionId": number, "invitation": "0" * 64}
    assert {client.get(path, query).status_code for path in (CONFIRM, REMOVE)} == {400}


def test_nobody_learns_which_numbers_there_are(client: Client) -> None:
    SubscriptionFactory(upstream_id=42)
    there, not_there = (client.get(link(REMOVE, number, "0" * 64)) for number in (42, 43))
    assert there.content == not_there.content


def test_a_number_of_upstreams_is_never_taken_for_a_key_of_ours(client: Client) -> None:
    """Upstream's 7 left long ago and was not imported; the row with key 7 is somebody else."""
    other = SubscriptionFactory()
    answer = client.post(link(REMOVE, other.pk))
    assert answer.status_code == 200
    assert "Nothing left to do" in answer.content.decode()
    assert other.destination.label not in answer.content.decode()
    assert status(other) == "confirmed"


def test_upstreams_number_comes_before_our_key(client: Client) -> None:
    ours = SubscriptionFactory()
    theirs = SubscriptionFactory(upstream_id=ours.pk)
    assert client.post(link(REMOVE, ours.pk)).status_code == 200
    assert (status(ours), status(theirs)) == ("confirmed", "unsubscribed")


@pytest.mark.parametrize("salt", [SALT, ""])
def test_our_own_key_is_proven_by_our_own_token(client: Client, settings: Any, salt: str) -> None:
    settings.UPSTREAM_SALT = salt
    ours = SubscriptionFactory()
    number, _, proof = links.unsubscribe_url(ours).split("/")[-2].partition("-")
    assert client.post(link(REMOVE, int(number), proof)).status_code == 200
    assert status(ours) == "unsubscribed"


@pytest.mark.parametrize("path", [CONFIRM, REMOVE])
def test_without_the_salt_an_old_link_leads_to_what_works(client: Client, settings: Any, path: str) -> None:
    settings.UPSTREAM_SALT = ""
    mine = SubscriptionFactory(upstream_id=42)
    for proof in ("", invitation(42, "RemoveSuffix", ""), invitation(42, "ConfirmSuffix", "")):
        answer = client.post(link(path, 42, proof))
        assert answer.status_code == 400
        assert "cannot be checked" in answer.content.decode()
        assert 'href="/sign-in/"' in answer.content.decode()
    assert status(mine) == "confirmed"


def test_an_old_confirmation_confirms_by_post_and_only_by_post(strict: Client) -> None:
    waiting = UnconfirmedFactory(
        upstream_id=42, added_at=timezone.now() - timedelta(hours=47), confirm_nonce=""
    )
    before = everything()
    shown = strict.get(link(CONFIRM, 42))
    assert shown.status_code == 200
    assert str(waiting.subscribable) in shown.content.decode()
    assert waiting.destination.label in shown.content.decode()
    assert everything() == before
    done = strict.post(link(CONFIRM, 42), follow=True)
    assert done.status_code == 200
    assert "You’re subscribed" in done.content.decode()
    assert status(waiting) == "confirmed"
    assert Consent.objects.get(act="confirmed").subscription == waiting
    assert "You’re subscribed" in strict.get(link(CONFIRM, 42)).content.decode()


def test_an_old_confirmation_ends_like_ours(client: Client) -> None:
    old = timezone.now() - timedelta(hours=48, seconds=1)
    waiting = UnconfirmedFactory(upstream_id=42, added_at=old, confirm_nonce="", subscribable__name="weekly")
    for answer in (client.get(link(CONFIRM, 42)), client.post(link(CONFIRM, 42))):
        assert answer.status_code == 400
        assert "48 hours" in answer.content.decode()
        assert "/s/weekly/" in answer.content.decode()
    assert status(waiting) == "unconfirmed"


def test_an_old_confirmation_brings_nobody_back_who_left(client: Client) -> None:
    left = LeftFactory(upstream_id=42)
    assert client.post(link(CONFIRM, 42)).status_code == 400
    assert status(left) == "unsubscribed"


def test_a_proof_to_confirm_does_not_remove_nor_the_other_way(client: Client) -> None:
    mine = SubscriptionFactory(upstream_id=42)
    client.post(link(REMOVE, 42, invitation(42, "ConfirmSuffix")))
    assert status(mine) == "confirmed"


def test_get_and_head_twice_change_nothing(client: Client) -> None:
    SubscribableFactory(name="weekly")
    SubscriptionFactory(upstream_id=42)
    UnconfirmedFactory(upstream_id=43, added_at=timezone.now())
    before = everything()
    form = f"{CREATE}?subscribableName=weekly&addressPart=ada@example.org"
    for path in [form, link(CONFIRM, 43), link(REMOVE, 42), link(REMOVE, 43)] * 2:
        assert client.get(path).status_code == 200
        assert client.head(path).status_code == 200
    assert everything() == before


def test_links_keep_their_address_to_themselves(client: Client) -> None:
    SubscriptionFactory(upstream_id=42)
    for path in (link(REMOVE, 42), link(REMOVE, 43), link(CONFIRM, 42, "wrong")):
        answer = client.get(path)
        assert answer["Referrer-Policy"] == "no-referrer"
        assert answer["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]


@pytest.mark.parametrize("path", [CREATE, CONFIRM, REMOVE])
def test_other_methods_are_refused(client: Client, path: str) -> None:
    assert {client.put(path).status_code, client.delete(path).status_code} == {405}


def test_the_tutorials_form_subscribes(strict: Client) -> None:
    SubscribableFactory(name="weekly")
    answer = strict.post(CREATE, TUTORIAL)
    assert answer.status_code == 200
    assert "Check your email" in answer.content.decode()
    made = Subscription.objects.get()
    assert (made.status, made.asked_name, made.destination.core) == ("unconfirmed", "Ada", "ada@example.org")
    proof = Consent.objects.get()
    assert (proof.how, proof.words) == ("v0", "")
    assert not strict.cookies


def test_a_post_may_have_its_parameters_in_the_address(strict: Client) -> None:
    SubscribableFactory(name="weekly")
    query = "&".join(f"{name}={value}" for name, value in TUTORIAL.items())
    assert strict.post(f"{CREATE}?{query}&destinationType=eMail").status_code == 200
    assert Subscription.objects.get().asked_name == "Ada"


def test_a_link_to_subscribe_again_shows_the_form_filled_in(strict: Client) -> None:
    SubscribableFactory(name="weekly", title="Example Weekly")
    shown = strict.get(CREATE, TUTORIAL)
    page = shown.content.decode()
    assert shown.status_code == 200
    assert page.count("<button") == 1
    assert "Subscribe to Example Weekly" in page
    assert not Subscription.objects.exists()
    fields = dict(re.findall(r'<input[^>]*name="(\w+)"[^>]*value="([^"]*)"', page))
    fields.pop("shown")
    assert fields == {"subscribableName": "weekly", "email": "ada@example.org", "name": "Ada"}
    assert "Check your email" in strict.post(CREATE, fields).content.decode()
    assert Subscription.objects.get().asked_name == "Ada"


def test_what_is_no_address_is_shown_with_the_reason(client: Client) -> None:
    SubscribableFactory(name="weekly")
    for given in ({**TUTORIAL, "addressPart": "ada@"}, {"subscribableName": "weekly"}):
        answer = client.post(CREATE, given)
        assert answer.status_code == 400
        assert 'class="error"' in answer.content.decode()
    assert not Subscription.objects.exists()


@pytest.mark.parametrize(
    "fields",
    some_now(
        [
            {},
            {"subscribableName": "nowhere", "addressPart": "a@example.org"},
            {"subscribableName": "no\0where", "addressPart": "a@example.org"},
            {"subscribableName": "hidden", "addressPart": "a@example.org"},
            {"subscribableName": "bridge", "addressPart": "a@example.org"},
            {"subscribableName": "bridge", "name": "ada", "instanceUrl": "https://social.example"},
            {
                "subscribableName": "weekly",
                "type": "Mastodon",
                "name": "a",
                "instanceUrl": "https://a.example",
            },
            {"subscribableName": "weekly", "number": "+12125550100"},
            {"subscribableName": "weekly", "type": "pigeon", "addressPart": "a@example.org"},
            {"subscribableName": "weekly", "addressPart": "a@example.org", "number": "1"},
        ]
    ),
)
@pytest.mark.parametrize("method", some_now(["get", "post"]))
def test_what_a_form_cannot_ask_for_is_a_400(client: Client, method: str, fields: dict[str, str]) -> None:
    SubscribableFactory(name="weekly")
    SubscribableFactory(name="hidden", visibility="private")
    BridgeFactory(name="bridge", sign_up="open")
    answer = getattr(client, method)(CREATE, fields)
    assert answer.status_code == 400
    assert "Not subscribed" in answer.content.decode()
    assert not Subscription.objects.exists()


def test_a_private_newsletter_is_as_one_that_is_not_there(client: Client) -> None:
    SubscribableFactory(name="hidden", visibility="private")
    answers = {
        client.post(CREATE, {**TUTORIAL, "subscribableName": name}).content for name in ("hidden", "nope")
    }
    assert len(answers) == 1


def test_a_closed_newsletter_says_so(client: Client) -> None:
    SubscribableFactory(name="weekly", sign_up="closed")
    answer = client.post(CREATE, TUTORIAL)
    assert answer.status_code == 400
    assert "closed to new subscribers" in answer.content.decode()
    assert not Subscription.objects.exists()


def test_who_is_subscribed_already_is_not_told_to_others(client: Client) -> None:
    """Upstream revealed it in its response."""
    letter = SubscribableFactory(name="weekly")
    SubscriptionFactory(subscribable=letter, destination__core="ada@example.org")
    known = client.post(CREATE, TUTORIAL)
    new = client.post(CREATE, {**TUTORIAL, "addressPart": "eve@example.org"})
    assert known.content.decode().replace("ada@", "") == new.content.decode().replace("eve@", "")
