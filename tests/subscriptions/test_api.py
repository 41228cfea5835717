from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client

from subscriptions.models import Notice, Subscription
from tests.factories import (
    BridgeFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

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
