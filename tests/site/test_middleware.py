"""Who a request comes from: only a trusted proxy may say so."""

from ipaddress import ip_network
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from feedletter_site.middleware import ProxyMiddleware, client_address

TRUSTED = [ip_network("10.0.0.0/8"), ip_network("127.0.0.1/32")]


def seen(settings: Any, remote: str, **headers: Any) -> HttpRequest:
    """The request as the program sees it behind the middleware."""
    settings.TRUSTED_PROXIES = TRUSTED
    request: HttpRequest = RequestFactory().get("/", REMOTE_ADDR=remote, **headers)
    ProxyMiddleware(lambda _: HttpResponse())(request)
    return request


def test_a_trusted_proxy_is_believed(settings: Any) -> None:
    request = seen(settings, "10.0.0.1", HTTP_X_FORWARDED_FOR="203.0.113.9", HTTP_X_FORWARDED_PROTO="https")
    assert request.META["REMOTE_ADDR"] == "203.0.113.9"
    assert request.is_secure()


def test_a_stranger_is_not_believed(settings: Any) -> None:
    request = seen(settings, "203.0.113.5", HTTP_X_FORWARDED_FOR="10.9.9.9", HTTP_X_FORWARDED_PROTO="https")
    assert request.META["REMOTE_ADDR"] == "203.0.113.5"
    assert not request.is_secure()
    assert "HTTP_X_FORWARDED_FOR" not in request.META


@pytest.mark.parametrize(
    ("forwarded", "expected"),
    [
        ("", "10.0.0.1"),
        ("203.0.113.9", "203.0.113.9"),
        ("198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("198.51.100.1, 203.0.113.9, 10.0.0.7", "203.0.113.9"),
        ("10.0.0.8, 10.0.0.7", "10.0.0.8"),
        ("nonsense", "nonsense"),
    ],
)
def test_the_nearest_address_that_is_no_proxy_counts(forwarded: str, expected: str) -> None:
    assert client_address("10.0.0.1", forwarded, TRUSTED) == expected
