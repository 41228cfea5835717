"""Requests per period, and then a 429 with Retry-After."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.api import Api, problem

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def few(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {"api": "3/minute", "api_anonymous": "2/minute", "subscribe": "30/hour"}
    settings.REST_FRAMEWORK = {**settings.REST_FRAMEWORK, "DEFAULT_THROTTLE_RATES": rates}
    # Not at the turn of a minute.
    monkeypatch.setattr("common.api.permissions.time.time", lambda: 1_000_000_020.0)


def test_each_token_has_its_own_number() -> None:
    one, other = Api(), Api()
    assert [one.get("feeds/").status_code for _ in range(4)] == [200, 200, 200, 429]
    assert other.get("feeds/").status_code == 200


def test_a_429_says_when_to_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    for _ in range(3):
        api.get("feeds/")
    answer = api.post("feeds/", url="https://x.test/")
    assert "Try again in 60 seconds" in problem(answer, 429)["detail"]
    assert answer.headers["Retry-After"] == "60"
    monkeypatch.setattr("common.api.permissions.time.time", lambda: 1_000_000_080.0)
    assert api.get("feeds/").status_code == 200


def test_a_person_is_counted_whatever_the_session() -> None:
    ada = User.objects.create_superuser("ada")
    codes = []
    for _ in range(4):
        client = Client()
        client.force_login(ada)
        codes.append(client.get("/api/v1/feeds/").status_code)
    assert codes == [200, 200, 200, 429]


def test_strangers_and_wrong_tokens_are_counted_by_their_address() -> None:
    def knock(address: str, **headers: str) -> int:
        return Client().get("/api/v1/feeds/", REMOTE_ADDR=address, headers=headers).status_code

    assert [knock("192.0.2.1"), knock("192.0.2.1", Authorization="Bearer fl_x"), knock("192.0.2.1")] == [
        401,
        401,
        429,
    ]
    assert knock("192.0.2.2") == 401
    # The addresses of one /64 are one client.
    assert [knock(f"2001:db8::{number}") for number in range(3)] == [401, 401, 429]


def test_the_description_is_not_for_everyone_without_end() -> None:
    assert [Client().get("/api/v1/schema/").status_code for _ in range(3)] == [200, 200, 429]
