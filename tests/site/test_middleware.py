"""The client's address: only a trusted proxy may set it."""

import os
import subprocess
import sys
from ipaddress import ip_network
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory

from common.net.addresses import CLAIMED
from feedletter_site.middleware import ProxyMiddleware, client_address
from subscriptions.subscribers.antispam import undeclared_proxy

TRUSTED = [ip_network("10.0.0.0/8"), ip_network("127.0.0.1/32")]


def seen(settings: Any, remote: str, **headers: Any) -> HttpRequest:
    """Return the request after the middleware."""
    settings.TRUSTED_PROXIES = TRUSTED
    request: HttpRequest = RequestFactory().get("/", REMOTE_ADDR=remote, **headers)
    ProxyMiddleware(lambda _: HttpResponse())(request)
    return request


@pytest.mark.parametrize("proxy", ["10.0.0.1", "::ffff:10.0.0.1"])
def test_a_trusted_proxy_is_believed_also_on_a_socket_for_ipv6(settings: Any, proxy: str) -> None:
    request = seen(settings, proxy, HTTP_X_FORWARDED_FOR="203.0.113.9", HTTP_X_FORWARDED_PROTO="https")
    assert request.META["REMOTE_ADDR"] == "203.0.113.9"
    assert request.is_secure()


def test_a_stranger_is_not_believed(settings: Any) -> None:
    request = seen(settings, "203.0.113.5", HTTP_X_FORWARDED_FOR="10.9.9.9", HTTP_X_FORWARDED_PROTO="https")
    assert request.META["REMOTE_ADDR"] == "203.0.113.5"
    assert not request.is_secure()
    assert "HTTP_X_FORWARDED_FOR" not in request.META


@pytest.mark.parametrize(
    ("remote", "headers", "claimed"),
    [
        ("172.17.0.1", {"X_FORWARDED_FOR": "198.51.100.1, 203.0.113.9"}, "203.0.113.9"),
        ("172.17.0.1", {"X_FORWARDED_FOR": "198.51.100.1, 192.168.0.7"}, "198.51.100.1"),
        ("172.17.0.1", {"X_FORWARDED_FOR": "203.0.113.9, unknown"}, ""),
        (
            "172.17.0.1",
            {"FORWARDED": 'for=198.51.100.1, For="[2001:db8::9]:4711";proto=https'},
            "2001:db8::9",
        ),
        ("172.17.0.1", {"X_REAL_IP": "203.0.113.9"}, "203.0.113.9"),
        ("::ffff:172.17.0.1", {"X_FORWARDED_FOR": "203.0.113.9"}, "203.0.113.9"),
        ("fd00::1", {"X_FORWARDED_FOR": "203.0.113.9"}, "203.0.113.9"),
        ("", {"X_FORWARDED_FOR": "203.0.113.9"}, "203.0.113.9"),
        ("172.17.0.1", {}, ""),
        ("198.51.100.1", {"X_FORWARDED_FOR": "203.0.113.9"}, ""),
        # The first proxy is declared, and the second isn't.
        ("10.0.0.1", {"X_FORWARDED_FOR": "203.0.113.9, 172.17.0.1"}, "203.0.113.9"),
        ("10.0.0.1", {"X_FORWARDED_FOR": "203.0.113.9"}, ""),
    ],
)
def test_whom_an_undeclared_proxy_names_is_only_a_claim(
    settings: Any, remote: str, headers: dict[str, str], claimed: str
) -> None:
    request = seen(settings, remote, **{f"HTTP_{name}": value for name, value in headers.items()})
    assert request.META.get(CLAIMED, "") == claimed
    if claimed:
        assert request.META["REMOTE_ADDR"] in (remote, "172.17.0.1")


@pytest.mark.parametrize(
    ("remote", "forwarded", "address"),
    [
        ("172.17.0.1", "203.0.113.9", "172.17.0.1"),
        ("::ffff:172.17.0.1", "203.0.113.9", "172.17.0.1"),
        ("172.17.0.1", "192.168.0.7", "172.17.0.1"),
        ("10.0.0.1", "203.0.113.9, 172.17.0.1", "172.17.0.1"),
        ("172.17.0.1", "", ""),
        ("10.0.0.1", "192.168.0.7", ""),
        ("::ffff:10.0.0.1", "203.0.113.9", ""),
        ("198.51.100.1", "203.0.113.9", ""),
    ],
)
def test_an_undeclared_proxy_is_noted(settings: Any, remote: str, forwarded: str, address: str) -> None:
    cache.clear()
    seen(settings, remote, **({"HTTP_X_FORWARDED_FOR": forwarded} if forwarded else {}))
    assert undeclared_proxy() == address
    settings.TRUSTED_PROXIES = [ip_network("172.16.0.0/12")]
    assert undeclared_proxy() == ""


@pytest.mark.parametrize(
    ("forwarded", "expected"),
    [
        ("", "10.0.0.1"),
        ("203.0.113.9", "203.0.113.9"),
        ("198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("198.51.100.1, 203.0.113.9, 10.0.0.7", "203.0.113.9"),
        ("10.0.0.8, 10.0.0.7", "10.0.0.8"),
        ("203.0.113.9:4711", "203.0.113.9"),
        ("[2001:db8::9]:4711", "2001:db8::9"),
        ("[2001:db8::9]", "2001:db8::9"),
        ("198.51.100.1, 203.0.113.9:80, 10.0.0.7:81", "203.0.113.9"),
        ("nonsense", "10.0.0.1"),
        ("unknown", "10.0.0.1"),
        ("203.0.113.9, unknown", "10.0.0.1"),
    ],
)
def test_the_nearest_address_that_is_no_proxy_counts(forwarded: str, expected: str) -> None:
    assert client_address("10.0.0.1", forwarded, TRUSTED) == expected


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/healthz", "/no-such-page", "/admin/login/"])
def test_head_is_answered_with_the_fields_of_get_and_no_body(path: str) -> None:
    """gunicorn logs a warning for each body that it drops. Django's test client drops it, too."""
    got, asked = (answered(path, method) for method in ("GET", "HEAD"))
    assert got[2]
    assert asked[2] == b""
    assert asked[:2] == got[:2]


def answered(path: str, method: str) -> tuple[str, str, bytes]:
    """Return status, Content-Length and body, as handed to the server."""
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "SERVER_NAME": "testserver"}
    setup_testing_defaults(environ)
    said: dict[str, str] = {}

    def start(status: str, fields: list[tuple[str, str]], _: Any = None) -> Any:
        said.update(dict(fields), status=status)

    body = b"".join(WSGIHandler()(environ, start))
    return said["status"], said.get("Content-Length", ""), body


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "a b", "x" * 5000, "@", ""])
def test_a_host_that_is_not_ours_gets_a_sentence_and_the_log_a_line(
    host: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = Client().get("/", HTTP_HOST=host, SERVER_NAME="evil.example")
    assert answer.status_code == 400
    assert len(answer.content) < 100
    (record,) = caplog.records
    assert record.exc_info is None
    assert len(record.getMessage()) < 250
    assert "ALLOWED_HOSTS" in record.getMessage()


@pytest.mark.django_db
def test_many_requests_for_other_hosts_are_a_line_a_minute(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client, moments = Client(), iter([0.5, 0.5, 1, 2, 61, 61])
    monkeypatch.setattr("feedletter_site.middleware.time.monotonic", lambda: next(moments))
    for _ in range(4):
        client.get("/", HTTP_HOST="evil.example")
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert "3 such requests" in said[1]


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_https_is_promised_for_a_year_where_the_site_has_it(scheme: str) -> None:
    said = subprocess.run(
        [sys.executable, "-c", "from feedletter_site import settings; print(settings.SECURE_HSTS_SECONDS)"],
        env={**os.environ, "SITE_URL": f"{scheme}://letters.example", "SECRET_KEY": "x" * 50},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(said.stdout) == (31_536_000 if scheme == "https" else 0)


@pytest.mark.django_db
def test_the_promise_goes_out_with_what_came_by_https(settings: Any) -> None:
    settings.SECURE_HSTS_SECONDS = 31_536_000
    assert Client().get("/healthz", secure=True)["Strict-Transport-Security"] == "max-age=31536000"
    assert "Strict-Transport-Security" not in Client().get("/healthz")
