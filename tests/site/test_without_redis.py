"""Without Redis every page and the API still work: pausing an issue must not need a cache."""

from typing import Any

import pytest
from django.test import Client

from common import caching
from tests import factories, services
from tests.examples import some_now

pytestmark = pytest.mark.django_db

PAGES = (
    "/admin/",
    "/admin/delivery/issue/",
    "/admin/delivery/delivery/",
    "/admin/subscriptions/subscription/",
    "/admin/subscriptions/subscribable/",
    "/admin/feeds/feed/",
    "/api/v1/feeds/",
    "/api/v1/issues/",
    "/api/v1/schema/",
    "/",
    "/readyz",
    "/metrics",
)


@pytest.fixture(autouse=True)
def _redis_is_away(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching._State, "away", False)
    monkeypatch.setattr(caching._State, "ask_at", float("-inf"))
    nowhere = f"redis://127.0.0.1:{services.free_port()}/0"
    settings.CACHES = {"default": {"BACKEND": "common.caching.SteadyRedisCache", "LOCATION": nowhere}}


@pytest.mark.parametrize("path", some_now(PAGES))
def test_a_page_is_answered(path: str, admin_client: Client) -> None:
    factories.an_issue()
    answer = admin_client.get(path, headers={"host": "127.0.0.1"})
    assert answer.status_code == 200
    assert caching._State.away or not path.startswith("/api/")


def test_the_limits_of_the_api_hold_in_this_process(client: Client, settings: Any) -> None:
    codes = {client.get("/api/v1/schema/").status_code for _ in range(70)}
    assert 429 in codes
