"""Embedded forms: sites that may frame ours, valid posts of theirs, and the return of the reader."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from subscriptions.models import Consent, Subscription
from subscriptions.subscribers import antispam
from tests.examples import some_now
from tests.factories import (
    BridgeFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)
from tests.subscriptions.questions import answer_to
from tests.subscriptions.rules.test_embed_hosts import TRICKS

pytestmark = pytest.mark.django_db

SITES = "blog.example.org\n*.example.net"
EMBED, FORM = "/s/weekly/embed/", "/s/weekly/subscribe/"
PAGES = ["/", "/s/weekly/", FORM, "/v0/subscription/create?subscribableName=weekly", "/sign-in/"]


@pytest.fixture
def strict() -> Client:
    """Return a client with CSRF checks, as in production."""
    return Client(enforce_csrf_checks=True)


def around(answer: Any) -> list[str]:
    """Return the sites that may frame a page."""
    (found,) = re.findall(r"frame-ancestors ([^;]*)", answer["Content-Security-Policy"])
    return str(found).split()


def post(client: Client, path: str, **data: str) -> Any:
    """Post to one of our forms and follow our redirect; one back to the embedding page is kept."""
    answer = client.post(path, {"email": "ada@example.org", **data})
    is_ours = answer.headers.get("Location", "").startswith("/")
    return client.get(answer["Location"]) if is_ours else answer


def test_the_embed_is_framed_by_the_newsletters_sites_and_by_us(client: Client) -> None:
    SubscribableFactory(name="weekly", embed_hosts=SITES)
    for answer in (client.get(EMBED), post(client, EMBED), post(client, EMBED, email="nonsense")):
        assert around(answer) == ["'self'", "http://blog.example.org", "http://*.example.net"]
        assert "X-Frame-Options" not in answer
        assert "script-src 'self'" in answer["Content-Security-Policy"]


def test_without_sites_nobody_else_frames_it(client: Client) -> None:
    SubscribableFactory(name="weekly")
    assert around(client.get(EMBED)) == ["'self'"]


@pytest.mark.parametrize("path", PAGES)
def test_no_other_page_is_framed(client: Client, path: str) -> None:
    SubscribableFactory(name="weekly", embed_hosts=SITES)
    answer = client.get(path, follow=True)
    assert around(answer) == ["'none'"]
    assert answer["X-Frame-Options"] == "DENY"


def test_the_embed_takes_a_sign_up_without_a_cookie(strict: Client) -> None:
    SubscribableFactory(name="weekly", title="Example Weekly")
    shown = strict.get(EMBED)
    assert "Subscribe to Example Weekly" in shown.content.decode()
    done = post(strict, EMBED)
    assert done.status_code == 200
    assert "Check your email" in done.content.decode()
    assert done["Cache-Control"] == "no-store"
    assert not strict.cookies
    assert Subscription.objects.get().status == "unconfirmed"


@pytest.mark.parametrize(
    ("path", "how"), [(EMBED, "embed"), (f"{EMBED}?by=widget", "widget"), (FORM, "embed")]
)
def test_the_proof_of_consent_says_by_which_form(client: Client, path: str, how: str) -> None:
    SubscribableFactory(name="weekly", title="Example Weekly")
    post(client, path)
    proof = Consent.objects.get()
    assert (proof.act, proof.how, proof.ip) == ("asked", how, None)
    assert "Subscribe to Example Weekly" in proof.words


@pytest.mark.parametrize("path", [EMBED, FORM])
def test_the_answer_is_the_same_for_every_address(client: Client, path: str) -> None:
    letter = SubscribableFactory(name="weekly")
    SubscriptionFactory(subscribable=letter, destination__core="confirmed@example.org")
    UnconfirmedFactory(subscribable=letter, destination__core="unconfirmed@example.org")
    SuppressionFactory(core="suppressed@example.org")
    pages = set()
    for who in ("new", "confirmed", "unconfirmed", "suppressed"):
        answer = post(client, path, email=f"{who}@example.org")
        pages.add((answer.status_code, answer.content.decode().replace(who, "")))
    assert len(pages) == 1


@pytest.mark.parametrize("path", [EMBED, FORM])
def test_what_is_no_address_is_shown_with_the_reason(client: Client, path: str) -> None:
    SubscribableFactory(name="weekly")
    answer = post(client, path, email="ada@")
    page = answer.content.decode()
    assert answer.status_code == 400
    assert 'class="error"' in page
    assert 'value="ada@"' in page
    assert not Subscription.objects.exists()


@pytest.mark.parametrize("path", [EMBED, FORM])
def test_a_robot_sees_the_same_and_nothing_happens(client: Client, path: str) -> None:
    SubscribableFactory(name="weekly")
    assert post(client, path, website="x").content == post(client, path).content
    assert Subscription.objects.count() == 1
    Subscription.objects.all().delete()
    post(client, path, website="x")
    assert not Subscription.objects.exists()


@pytest.mark.parametrize("path", [EMBED, FORM])
def test_where_robots_are_held_off_a_form_without_script_asks_a_question(
    client: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    SubscribableFactory(name="weekly", challenge=True)
    asked = post(client, path)
    assert asked.status_code == 400
    page = asked.content.decode()
    (question,) = re.findall(r'name="question" value="([^"]+)"', page)
    monkeypatch.setattr(antispam, "QUESTION_READ", timedelta(0))
    done = post(client, path, question=question, reply=answer_to(page))
    assert done.status_code == 200
    assert Subscription.objects.count() == 1


@pytest.mark.parametrize("facts", [{"sign_up": "closed"}, {"stopped": True}])
@pytest.mark.parametrize("path", [EMBED, FORM])
def test_a_closed_newsletter_says_so(client: Client, path: str, facts: dict[str, Any]) -> None:
    SubscribableFactory(name="weekly", **facts)
    page = post(client, path).content.decode()
    assert "closed to new subscribers" in page
    assert "<form" not in page
    assert not Subscription.objects.exists()


def test_a_bridge_has_no_form(client: Client) -> None:
    BridgeFactory(name="weekly", sign_up="open")
    assert "<form" not in client.get(EMBED).content.decode()


@pytest.mark.parametrize("path", [EMBED, FORM])
@pytest.mark.parametrize("name", ["weekly", "nowhere", "%00"])
def test_a_private_newsletter_is_not_there(client: Client, path: str, name: str) -> None:
    SubscribableFactory(name="weekly", visibility="private", embed_hosts=SITES)
    there = path.replace("weekly", name)
    assert {
        client.get(there).status_code,
        client.head(there).status_code,
        post(client, there).status_code,
    } == {404}


@pytest.mark.parametrize(
    ("asked", "sent_to"),
    [
        ("https://blog.example.org/thanks?a=1#b", "https://blog.example.org/thanks?a=1#b"),
        ("http://deep.example.net", "http://deep.example.net/"),
    ],
)
def test_a_reader_is_sent_back_to_one_of_the_sites(strict: Client, asked: str, sent_to: str) -> None:
    SubscribableFactory(name="weekly", embed_hosts=SITES)
    answer = post(strict, FORM, return_to=asked)
    assert (answer.status_code, answer["Location"]) == (303, sent_to)
    assert Subscription.objects.count() == 1


@pytest.mark.parametrize("asked", some_now([*TRICKS, "https://blog.example.org/\n"]))
def test_and_never_anywhere_else(client: Client, asked: str) -> None:
    SubscribableFactory(name="weekly", embed_hosts="blog.example.org\n*.example.net\nlocalhost:4000")
    answer = post(client, FORM, return_to=asked)
    assert answer.status_code == 200
    assert "Location" not in answer
    assert "Check your email" in answer.content.decode()
    assert Subscription.objects.count() == 1


def test_the_embed_itself_sends_nobody_anywhere(client: Client) -> None:
    SubscribableFactory(name="weekly", embed_hosts=SITES)
    assert post(client, EMBED, return_to="https://blog.example.org/").status_code == 200


def test_after_a_mistake_the_reader_still_comes_back(client: Client) -> None:
    SubscribableFactory(name="weekly", embed_hosts=SITES)
    again = post(client, FORM, email="ada@", return_to="https://blog.example.org/thanks")
    assert 'name="return_to" value="https://blog.example.org/thanks"' in again.content.decode()
    assert "form-action 'self' https://blog.example.org;" in again["Content-Security-Policy"]
    strange = post(client, FORM, email="ada@", return_to="https://evil.example/")
    assert "evil" not in strange.content.decode() + strange["Content-Security-Policy"]


def test_the_forms_own_address_leads_to_the_newsletter(client: Client, settings: Any) -> None:
    settings.SITE_URL = "https://letters.example.org"
    SubscribableFactory(name="weekly")
    assert client.get(FORM)["Location"] == "https://letters.example.org/s/weekly/"
