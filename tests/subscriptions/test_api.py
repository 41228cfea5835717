"""Subscriptions in the API, and sign-ups by scripts.

The public sign-up by scripts: only a newsletter's own sites may read the response.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from subscriptions.models import Consent, Notice, Subscription
from subscriptions.rules.sign_up import solve
from subscriptions.subscribers.antispam import new_sum
from tests.factories import (
    BridgeFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

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
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def fresh_limits() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


@pytest.fixture
def staff() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("ada", is_staff=True))
    return client


def address(name: str) -> str:
    return f"/api/v1/subscribables/{name}/subscribe/"


def sign_up(client: Client, newsletter: str, **data: str) -> Any:
    return client.post(address(newsletter), data, content_type="application/json")


def test_a_stranger_may_sign_up_and_gets_a_confirmation(client: Client) -> None:
    newsletter = SubscribableFactory()
    answer = sign_up(client, newsletter.name, email="Ada@example.org", name="Ada")
    assert answer.status_code == 202
    assert answer.json()["detail"].startswith("Check your email")
    made = Subscription.objects.get()
    assert (made.status, made.asked_name, made.display_name) == ("unconfirmed", "Ada", "")
    assert Notice.objects.get().kind == "confirmation"


def test_a_form_of_another_site_may_post_without_a_cookie() -> None:
    strict = Client(enforce_csrf_checks=True)
    answer = strict.post(address(SubscribableFactory().name), {"email": "ada@example.org"})
    assert answer.status_code == 202
    assert not answer.cookies


def test_a_session_changes_nothing_about_a_sign_up(staff: Client) -> None:
    assert sign_up(staff, SubscribableFactory().name, email="ada@example.org").status_code == 202


def test_the_answer_is_the_same_whatever_is_known_of_the_address(client: Client) -> None:
    newsletter = SubscribableFactory()
    there = SubscriptionFactory(subscribable=newsletter)
    waiting = UnconfirmedFactory(subscribable=newsletter)
    gone = SuppressionFactory()
    cores = [there.destination.core, waiting.destination.core, gone.core, "new@example.org"]
    answers = {sign_up(client, newsletter.name, email=core).content for core in cores}
    assert len(answers) == 1


@pytest.mark.parametrize(
    "data", [{}, {"email": ""}, {"email": "nonsense"}, {"email": "a@example.org\r\nBcc: x@y.z"}]
)
def test_what_is_no_address_is_a_400(client: Client, data: dict[str, str]) -> None:
    answer = sign_up(client, SubscribableFactory().name, **data)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == ["email"]
    assert not Subscription.objects.exists()


def test_a_private_newsletter_is_not_there(client: Client) -> None:
    private = SubscribableFactory(visibility="private").name
    missing = sign_up(client, "nowhere", email="a@example.org")
    hidden = sign_up(client, private, email="a@example.org")
    assert (hidden.status_code, hidden.content) == (404, missing.content)


def test_closed_newsletters_and_bridges_take_nobody(client: Client) -> None:
    assert (
        sign_up(client, SubscribableFactory(sign_up="closed").name, email="a@example.org").status_code == 403
    )
    assert sign_up(client, BridgeFactory().name, email="a@example.org").status_code == 403
    assert not Subscription.objects.exists()


def test_other_endpoints_are_not_for_other_origins(staff: Client) -> None:
    assert "Access-Control-Allow-Origin" not in staff.get("/api/v1/feeds/")


def test_sign_ups_from_one_place_are_limited_and_asking_before_is_not(client: Client) -> None:
    name = SubscribableFactory().name
    for _ in range(40):
        assert client.options(address(name)).status_code == 204
    codes = [sign_up(client, name, email=f"r{n}@example.org").status_code for n in range(31)]
    assert codes == [202] * 30 + [429]


def test_a_program_is_told_that_its_server_is_over_the_limit_of_one_visitor(settings: Any) -> None:
    settings.SIGN_UP_LIMITS = "ip=2/hour"
    client, name = Client(REMOTE_ADDR="203.0.113.7"), SubscribableFactory().name
    answers = [sign_up(client, name, email=f"r{n}@example.org") for n in range(3)]
    assert [answer.status_code for answer in answers] == [202, 202, 429]
    assert int(answers[-1].headers["Retry-After"]) >= 3_600


def test_a_body_far_too_large_is_refused_unread(client: Client) -> None:
    answer = sign_up(client, SubscribableFactory().name, email="a@example.org", name="x" * 20_000)
    assert answer.status_code == 413


def test_what_is_no_json_is_a_400(client: Client) -> None:
    answer = client.post(address(SubscribableFactory().name), b"{", content_type="application/json")
    assert answer.status_code == 400
    listed = client.post(address(SubscribableFactory().name), b"[1]", content_type="application/json")
    assert listed.status_code == 400


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
