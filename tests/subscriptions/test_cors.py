"""The public sign-up by scripts: only a newsletter's own sites may read the response."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from subscriptions.models import Consent, Subscription
from subscriptions.rules.sign_up import solve
from subscriptions.subscribers.antispam import new_sum
from tests.factories import SubscribableFactory

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/subscribables/weekly/subscribe/"
BLOG = "https://blog.example.org"
ALLOWED = "Access-Control-Allow-Origin"
ORIGINS = [
    *(
        "https://evil.example",
        "https://blog.example.org.evil.example",
        "https://blog.example.org:444",
        "null",
    ),
    *("https://BLOG.example.org", "https://blog.example.org/", "https://blog.example.org@evil.example", "*"),
    *("", "chrome-extension://blog.example.org"),
]


@pytest.fixture(autouse=True)
def fresh_limits() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def post(client: Client, origin: str = BLOG, **data: str) -> Any:
    given = {"email": "ada@example.org", **data}
    return client.post(ADDRESS, given, content_type="application/json", headers={"Origin": origin})


def ask(client: Client, origin: str = BLOG, address: str = ADDRESS) -> Any:
    wants = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    return client.options(address, headers={"Origin": origin, **wants})


def test_a_site_of_the_newsletter_may_ask_post_and_read(client: Client) -> None:
    SubscribableFactory(name="weekly", embed_hosts="blog.example.org")
    asked = ask(client)
    assert (asked.status_code, asked[ALLOWED]) == (204, BLOG)
    assert "POST" in asked["Access-Control-Allow-Methods"]
    assert asked["Access-Control-Allow-Headers"] == "Content-Type"
    answer = post(client)
    assert (answer.status_code, answer[ALLOWED]) == (202, BLOG)
    assert "Access-Control-Allow-Credentials" not in answer
    assert Subscription.objects.count() == 1


def test_errors_may_be_read_too(client: Client) -> None:
    SubscribableFactory(name="weekly", embed_hosts="blog.example.org")
    answer = post(client, email="ada@")
    assert (answer.status_code, answer[ALLOWED]) == (400, BLOG)


@pytest.mark.parametrize("origin", ORIGINS)
def test_no_other_origin_may(client: Client, origin: str) -> None:
    SubscribableFactory(name="weekly", embed_hosts="blog.example.org")
    for answer in (ask(client, origin), post(client, origin)):
        assert ALLOWED not in answer
        assert "Origin" in answer["Vary"]


def test_without_sites_no_origin_may(client: Client) -> None:
    SubscribableFactory(name="weekly")
    assert ALLOWED not in ask(client)
    assert ALLOWED not in post(client)


def test_one_newsletters_sites_are_not_anothers(client: Client) -> None:
    SubscribableFactory(name="weekly")
    SubscribableFactory(name="daily", embed_hosts="blog.example.org")
    assert ALLOWED not in ask(client)


def test_a_private_newsletter_lets_nobody_know_its_sites(client: Client) -> None:
    SubscribableFactory(name="weekly", visibility="private", embed_hosts="blog.example.org")
    hidden, missing = ask(client), ask(client, address=ADDRESS.replace("weekly", "nowhere"))
    assert hidden.headers == missing.headers
    assert ALLOWED not in post(client)


def test_a_name_that_no_database_takes_is_not_there(client: Client) -> None:
    assert client.post(ADDRESS.replace("weekly", "%00")).status_code == 404


def test_the_proof_of_consent_holds_what_the_form_said(client: Client) -> None:
    SubscribableFactory(name="weekly")
    post(client, words="Yes, send me the weekly letter.")
    proof = Consent.objects.get()
    assert (proof.how, proof.words) == ("api", "Yes, send me the weekly letter.")


def test_where_robots_are_held_off_the_sum_is_solved_first_and_once(client: Client) -> None:
    SubscribableFactory(name="weekly", challenge=True)
    refused = post(client)
    assert refused.status_code == 400
    assert "solution" in refused.content.decode()
    challenge = new_sum(now=datetime.now(UTC))
    solution = f"{challenge}:{solve(challenge)}"
    codes = [post(client, solution=solution).status_code for _ in range(2)]
    assert codes == [202, 400]
