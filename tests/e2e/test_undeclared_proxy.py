"""Sign-ups behind a proxy that isn't in TRUSTED_PROXIES are kept, and the overview says what to set."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from django.core.cache import cache
from django.test import Client

from common.rates import CROWD_TIMES
from delivery.letters.notices import take_notices
from delivery.models import Delivery
from feedletter_site.monitoring.stages import UNDECLARED
from subscriptions.subscribers import antispam
from tests.factories import NOW, SubscribableFactory
from tests.site.test_examples import HOST, in_front_of

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
PEOPLE = 30


@pytest.fixture(autouse=True)
def _public(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    settings.TRUSTED_PROXIES = []
    monkeypatch.setattr(antispam, "QUICKEST", antispam.QUICKEST * 0)
    cache.clear()


@contextmanager
def front(name: str, folder: Path, port: int) -> Iterator[tuple[int, ssl.SSLContext | None]]:
    """Yield where people connect to; "" is Docker's bridge, which forwards connections."""
    if not name:
        yield port, None
        return
    with in_front_of(folder, name, port) as proxy:
        context = ssl.create_default_context(cafile=proxy.certificate)
        context.check_hostname = False
        yield proxy.https, context


def sign_up(entry: tuple[int, ssl.SSLContext | None], number: int, source: str, **headers: str) -> int:
    """Return the status. `source` is the address that the proxy sees."""
    port, context = entry
    place: dict[str, Any] = {"timeout": 20, "source_address": (source, 0)}
    connection = (
        HTTPSConnection("127.0.0.1", port, context=context, **place)
        if context
        else HTTPConnection("127.0.0.1", port, **place)
    )
    form = {"Content-Type": "application/x-www-form-urlencoded", "Host": HOST, **headers}
    try:
        connection.request("POST", "/s/news/", urlencode({"email": f"reader{number}@example.org"}), form)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("name", ["nginx", "caddy", ""], ids=["nginx", "Caddy", "bridge"])
def test_thirty_people_are_kept_and_the_overview_says_what_to_set(
    name: str, live_urls: str, tmp_path: Path, admin_client: Client
) -> None:
    SubscribableFactory(name="news")
    with front(name, tmp_path, urlsplit(live_urls).port or 0) as entry:
        # Docker's bridge connects from one address.
        answers = [sign_up(entry, each, f"127.0.0.{2 + each if name else 1}") for each in range(PEOPLE)]
    assert answers == [303] * PEOPLE
    take_notices(now=NOW)
    assert Delivery.objects.filter(kind="confirmation").count() == PEOPLE
    assert "set TRUSTED_PROXIES=127.0.0.1." in admin_client.get("/admin/").content.decode()
    ready = admin_client.get("/readyz")
    assert (ready.status_code, ready.content) == (200, f"ok\n{UNDECLARED}".encode())


@pytest.mark.parametrize("forges", [False, True], ids=["as it is", "forging headers"])
def test_a_robot_behind_a_proxy_is_bounded(
    live_urls: str, tmp_path: Path, settings: Any, forges: bool
) -> None:
    settings.SIGN_UP_LIMITS = "ip=1/hour"
    SubscribableFactory(name="news")
    answers = []
    with front("nginx", tmp_path, urlsplit(live_urls).port or 0) as entry:
        for number in range(CROWD_TIMES + 5):
            forged = {"X-Forwarded-For": f"203.0.113.{number}"} if forges else {}
            answers.append(sign_up(entry, number, "127.0.0.9", **forged))
    assert answers == [303] * CROWD_TIMES + [429] * 5
    take_notices(now=NOW)
    assert Delivery.objects.count() == CROWD_TIMES
