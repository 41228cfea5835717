"""Sign-ups cannot flood a mailbox, from any client and by any way."""

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any

import pytest
from django.conf import settings as project
from django.core.cache import cache
from django.test import Client

from common.clock import utcnow
from common.rates import CROWD_TIMES, parse_limits
from delivery.letters.notices import take_notices
from delivery.models import Delivery
from subscriptions.models import Destination, Subscription
from subscriptions.rules.limits import USUAL_LIMITS
from subscriptions.subscribers.antispam import count_refusals
from tests.examples import NIGHTLY
from tests.factories import NOW, SubscribableFactory

pytestmark = pytest.mark.django_db
API = "/api/v1/subscribables/weekly/subscribe/"
thousands = pytest.mark.parametrize("many", [100, pytest.param(1000, marks=NIGHTLY)])


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Respond at once: an attacker uses many connections and does not wait."""
    monkeypatch.setattr("subscriptions.views.pages.SECONDS", 0.0)
    cache.clear()
    yield
    cache.clear()


def usual(scope: str) -> int:
    """The smallest of its limits."""
    limits = parse_limits(project.SIGN_UP_LIMITS, USUAL_LIMITS)
    return min(limit.most for limit in limits if limit.name == scope)


def mails() -> int:
    take_notices(now=NOW)
    return Delivery.objects.count()


def post(client: Client, path: str, email: str, ip: str) -> bytes:
    answer = client.post(path, {"email": email, "newsletter": ["weekly"]}, follow=True, REMOTE_ADDR=ip)
    assert answer.status_code in (200, 202, 429)
    return bytes(answer.content.replace(email.encode(), b""))


@pytest.mark.slow
@thousands
def test_very_many_addresses_from_one_reader(client: Client, many: int) -> None:
    letter = SubscribableFactory(name="weekly")
    pages = {post(client, "/s/weekly/", f"r{n:04}@example.org", "198.51.100.7") for n in range(many)}
    assert len(pages) == 1
    assert mails() == usual("ip") == Subscription.objects.count() == Destination.objects.count()
    assert sum(count_refusals(letter, now=utcnow()).values()) == many - usual("ip")


@pytest.mark.slow
@thousands
def test_one_address_from_very_many_readers(client: Client, many: int) -> None:
    SubscribableFactory(name="weekly")
    for number in range(many):
        post(client, "/s/weekly/", "ada@example.org", f"198.51.{number // 250}.{number % 250}")
    assert mails() == 1


@pytest.mark.slow
def test_one_address_from_many_readers_for_all_newsletters(client: Client) -> None:
    letters = SubscribableFactory.create_batch(40)
    for number, letter in enumerate(letters):
        post(client, f"/s/{letter.name}/", "ada@example.org", f"198.51.100.{number}")
    assert mails() == usual("address")


@pytest.mark.parametrize("path", ["/", API])
def test_no_way_in_leads_past_the_limits(client: Client, path: str, settings: Any) -> None:
    settings.SIGN_UP_LIMITS = "ip=4/hour"
    SubscribableFactory(name="weekly")
    for number in range(12):
        post(client, path, f"reader{number}@example.org", "198.51.100.7")
    assert mails() == 4


@pytest.mark.parametrize(("ip", "most"), [("203.0.113.7", 4), ("172.17.0.1", 4 * CROWD_TIMES)])
def test_a_forged_header_makes_nobody_as_many_readers_as_they_like(
    client: Client, settings: Any, ip: str, most: int
) -> None:
    settings.SIGN_UP_LIMITS = "ip=4/hour"
    SubscribableFactory(name="weekly")
    for number in range(most + 3):
        answer = client.post(
            "/s/weekly/",
            {"email": f"reader{number}@example.org"},
            headers={"X-Forwarded-For": f"198.51.100.{number}"},
            REMOTE_ADDR=ip,
        )
    assert mails() == most
    assert answer.status_code == (303 if ip == "203.0.113.7" else 429)


@pytest.mark.parametrize("path", ["/", *(f"/s/weekly/{page}" for page in ("", "embed/", "subscribe/")), API])
def test_who_is_refused_because_of_our_proxy_is_told_so(client: Client, settings: Any, path: str) -> None:
    settings.SIGN_UP_LIMITS = "ip=0/hour"
    SubscribableFactory(name="weekly", embed_hosts="blog.example.org")
    data = {"email": "ada@example.org", "newsletter": ["weekly"], "return_to": "https://blog.example.org/ok"}
    answer = client.post(path, data, REMOTE_ADDR="172.17.0.1")
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 0
    if not path.startswith("/api/"):
        assert "Too many people are signing up right now. Please try again in " in answer.content.decode()
    if path.endswith("/embed/"):
        assert "//blog.example.org" in answer.headers["Content-Security-Policy"]
        assert "X-Frame-Options" not in answer.headers
    assert mails() == 0


def test_readers_behind_our_own_proxy_are_told_apart(client: Client, settings: Any) -> None:
    settings.SIGN_UP_LIMITS = "ip=1/hour"
    settings.TRUSTED_PROXIES = [ip_network("127.0.0.0/8")]
    SubscribableFactory(name="weekly")
    for number in range(6):
        client.post(
            "/s/weekly/",
            {"email": f"reader{number}@example.org"},
            headers={"X-Forwarded-For": f"198.51.100.{number % 3}"},
        )
    assert mails() == 3
