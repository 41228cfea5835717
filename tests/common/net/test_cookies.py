"""A cookie is kept for the redirects of one reading, for the host that set it, and no longer."""

from collections.abc import Iterator
from ipaddress import ip_network

import pytest

from common.net.client import FetchError, SafeClient
from tests.servers.feed_server import FeedServer, Reply, Request


@pytest.fixture
def server() -> Iterator[FeedServer]:
    with FeedServer() as running:
        yield running


@pytest.fixture
def http() -> SafeClient:
    resolve = lambda *_: ["127.0.0.1"]  # noqa: E731
    return SafeClient(allow=[ip_network("127.0.0.0/8")], resolve=resolve)


def wall(request: Request) -> Reply:
    """Redirect with a cookie first, as many servers do."""
    if "session=1" in request.headers.get("cookie", ""):
        return Reply(b"feed")
    return Reply(b"", 302, {"Location": request.path, "Set-Cookie": "session=1; Path=/; HttpOnly"})


def test_who_wants_its_cookie_back_gets_it(server: FeedServer, http: SafeClient) -> None:
    assert http.get(server.answer("/feed", wall)).body == b"feed"


def test_the_next_reading_begins_without_any(server: FeedServer, http: SafeClient) -> None:
    url = server.answer("/feed", wall)
    http.get(url)
    http.get(url)
    assert [request.headers.get("cookie") for request in server.requests] == [None, "session=1"] * 2


def test_another_host_gets_no_cookie(server: FeedServer, http: SafeClient) -> None:
    there = f"http://other.example:{server.port}/there"
    server.serve("/there", b"feed")
    moved = {"Location": there, "Set-Cookie": "session=1"}
    url = server.serve("/feed", status=302, headers=moved)
    assert http.get(url).body == b"feed"
    assert "cookie" not in server.asked("/there")[0].headers


def test_a_wall_that_no_cookie_opens_is_called_by_its_name(server: FeedServer, http: SafeClient) -> None:
    headers = {"Location": "/feed", "Set-Cookie": "seen=1"}
    with pytest.raises(FetchError, match="cookie wall, made for browsers"):
        http.get(server.serve("/feed", status=302, headers=headers))
    with pytest.raises(FetchError, match=r"redirects more than 5 times\. Check the address"):
        http.get(server.redirect("/loop", "/loop"))


def test_what_is_kept_is_bounded(server: FeedServer, http: SafeClient) -> None:
    def reply(request: Request) -> Reply:
        if "cookie" in request.headers:
            return Reply(request.headers["cookie"].encode())
        return Reply(b"", 302, {"Location": "/feed", "Set-Cookie": f"big={'x' * 5_000}", "set-cookie": "a=1"})

    assert http.get(server.answer("/feed", reply)).body == b"a=1"
