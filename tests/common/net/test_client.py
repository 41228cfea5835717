"""The safe client against real servers on loopback."""

import gzip
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from ipaddress import ip_network
from pathlib import Path

import brotli
import pytest
import requests
from django.db import transaction

from common.net.client import AddressRefused, AnswerTooLarge, FetchError, SafeClient, client
from common.transactions import NetworkInTransaction
from tests.common.certificates import self_signed, server_context
from tests.examples import some_now
from tests.servers.feed_server import FeedServer, Reply, Request, wait_until

LOOPBACK = [ip_network("127.0.0.0/8")]


@pytest.fixture
def server() -> Iterator[FeedServer]:
    with FeedServer() as running:
        yield running


@pytest.fixture
def http() -> SafeClient:
    """Return a client that resolves every name to loopback."""
    return SafeClient(allow=LOOPBACK, user_agent="Feedletter/test", resolve=lambda *_: ["127.0.0.1"])


def failure(http: SafeClient, url: str, **options: float) -> str:
    with pytest.raises(FetchError) as caught:
        http.get(url, **options)  # type: ignore[arg-type]
    assert str(caught.value).endswith(".")
    return str(caught.value)


def test_an_answer_comes_whole(server: FeedServer, http: SafeClient) -> None:
    url = server.serve("/feed.xml", "grüße", status=203, headers={"X-Thing": "1"})
    fetched = http.get(url, headers={"Accept": "text/xml"})
    assert (fetched.status, fetched.url, fetched.body) == (203, url, "grüße".encode())
    assert (fetched.headers["x-thing"], fetched.redirects) == ("1", ())
    (asked,) = server.requests
    assert (asked.headers["accept"], asked.headers["user-agent"]) == ("text/xml", "Feedletter/test")


@pytest.mark.parametrize("status", [304, 404, 410, 429, 500, 503])
def test_a_status_that_is_no_success_is_the_callers_to_judge(
    server: FeedServer, http: SafeClient, status: int
) -> None:
    assert http.get(server.serve("/x", status=status, headers={"Retry-After": "5"})).status == status


def test_connections_are_reused(server: FeedServer, http: SafeClient) -> None:
    url = server.serve("/x", "hello")
    for _ in range(3):
        http.get(url)
    assert server.connections == 1


def test_a_kept_connection_that_the_server_closed_costs_nothing(server: FeedServer, http: SafeClient) -> None:
    url = server.serve("/x", "hello", headers={"Connection": "close"})
    assert [http.get(url).body for _ in range(3)] == [b"hello"] * 3


def test_a_kept_connection_that_breaks_under_a_request_is_replaced_once(http: SafeClient) -> None:
    """The server closes it while our next request is in flight, which is no error of the feed."""
    accepted: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_answer_once_each, args=(listener, accepted), daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        assert [http.get(url, timeout=5).body for _ in range(3)] == [b"ok"] * 3
    assert len(accepted) == 3


def _answer_once_each(listener: socket.socket, accepted: list[int]) -> None:
    for _ in range(3):
        connection, _address = listener.accept()
        with connection:
            accepted.append(1)
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            if len(accepted) < 3:
                connection.recv(65536)


def test_a_private_address_is_refused_before_anything_is_sent(server: FeedServer) -> None:
    url = server.serve("/x", "secret")
    with pytest.raises(AddressRefused, match=r"127\.0\.0\.1 is not a public address.*ALLOW_PRIVATE_NETWORKS"):
        SafeClient().get(url)
    assert server.connections == 0


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fec0::1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://0/",
        "http://127.0.0.1.:80/",
    ],
)
def test_a_redirect_to_a_private_address_is_refused(server: FeedServer, url: str) -> None:
    http = SafeClient(allow=[ip_network("127.0.0.1/32")] if "127.0.0.1.:" not in url else [])
    with pytest.raises(FetchError):
        http.get(server.redirect("/x", url))


def test_a_name_that_changes_its_address_after_the_check_gains_nothing(server: FeedServer) -> None:
    """DNS rebinding: the name is looked up once, and that address is the one connected to."""
    answers = [["127.0.0.1"], ["169.254.169.254"]]
    http = SafeClient(allow=LOOPBACK, resolve=lambda *_: answers.pop(0))
    server.serve("/x", "hello", headers={"Connection": "close"})
    url = f"http://rebind.example:{server.port}/x"
    assert http.get(url).body == b"hello"
    with pytest.raises(AddressRefused, match=r"rebind\.example leads to 169\.254\.169\.254"):
        http.get(url)


def test_every_address_of_a_host_is_tried(server: FeedServer) -> None:
    http = SafeClient(allow=LOOPBACK, resolve=lambda *_: ["10.0.0.1", "127.0.0.9", "127.0.0.1"])
    server.serve("/x", "hello")
    assert http.get(f"http://many.example:{server.port}/x").body == b"hello"
    assert server.requests[0].headers["host"] == f"many.example:{server.port}"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_and_told(server: FeedServer, http: SafeClient, status: int) -> None:
    end = server.serve("/end", "hello")
    start = server.redirect("/start", "end", status)
    fetched = http.get(start)
    assert (fetched.body, fetched.url, fetched.redirects) == (b"hello", end, ((status, end),))


def test_five_redirects_are_followed_and_no_sixth(server: FeedServer, http: SafeClient) -> None:
    for number in range(6):
        server.redirect(f"/{number}", f"/{number + 1}")
    server.serve("/6", "hello")
    assert http.get(server.url("/1")).body == b"hello"
    assert "redirects more than 5 times" in failure(http, server.url("/0"))


@pytest.mark.parametrize("target", ["ftp://e.org/x", "file:///etc/passwd", "http://[bad", "//:0/"])
def test_a_redirect_to_what_is_no_web_address_is_refused(
    server: FeedServer, http: SafeClient, target: str
) -> None:
    failure(http, server.redirect("/x", target))
    assert len(server.requests) == 1


def test_credentials_and_headers_stay_with_their_host(server: FeedServer, http: SafeClient) -> None:
    secrets = {"Authorization": "Basic x", "X-Key": "1", "Accept": "text/xml"}
    server.serve("/end", "hello")
    server.redirect("/same", "/end")
    server.redirect("/other", f"http://other.example:{server.port}/end")
    http.get(server.url("/same"), headers=secrets)
    http.get(server.url("/other"), headers=secrets)
    http.get(f"http://user:password@first.example:{server.port}/other")
    kept, dropped, from_url = server.asked("/end")
    assert {"authorization", "x-key", "accept"} <= kept.headers.keys()
    assert not {"authorization", "x-key"} & dropped.headers.keys()
    assert dropped.headers["accept"] == "text/xml"
    assert "authorization" not in from_url.headers
    assert "authorization" in server.asked("/other")[1].headers


def test_cookies_are_not_kept(server: FeedServer, http: SafeClient) -> None:
    url = server.serve("/x", "hello", headers={"Set-Cookie": "id=1"})
    http.get(url)
    http.get(url)
    assert all("cookie" not in request.headers for request in server.requests)


def test_the_environment_has_no_say(
    server: FeedServer, http: SafeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    assert http.get(server.serve("/x", "hello")).body == b"hello"


def test_a_body_of_ten_megabytes_is_not_read(server: FeedServer, http: SafeClient) -> None:
    url = server.serve("/x", b"x" * 10_000_000)
    with pytest.raises(AnswerTooLarge, match="larger than 5 MB"):
        http.get(url)
    assert http.get(server.serve("/small", b"x" * 5_000_000)).status == 200


def brotli_quickly(data: bytes) -> bytes:
    return bytes(brotli.compress(data, quality=1))


@pytest.mark.parametrize(
    ("encoding", "pack"),
    some_now([("gzip", gzip.compress), ("deflate", zlib.compress), ("br", brotli_quickly)]),
)
def test_the_limit_counts_after_decompression(
    server: FeedServer, http: SafeClient, encoding: str, pack: type[bytes]
) -> None:
    headers = {"Content-Encoding": encoding}
    bomb = server.serve("/bomb", pack(b"\0" * 100_000_000), headers=headers)
    assert "larger than 5 MB" in failure(http, bomb)
    assert http.get(server.serve("/ok", pack(b"hello"), headers=headers)).body == b"hello"


def test_a_slow_drip_ends_with_the_deadline(server: FeedServer, http: SafeClient) -> None:
    url = server.serve("/x", b"x" * 1000, drip=0.02)
    start = time.monotonic()
    assert "within 0.3 seconds" in failure(http, url, timeout=0.3)
    assert time.monotonic() - start < 2


def test_slow_headers_and_slow_redirects_end_with_the_same_deadline(http: SafeClient) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_drip_headers, args=(listener,), daemon=True).start()
        start = time.monotonic()
        assert "within 0.3 seconds" in failure(
            http, f"http://127.0.0.1:{listener.getsockname()[1]}/", timeout=0.3
        )
        assert time.monotonic() - start < 2


def _drip_headers(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        for byte in b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200:
            try:
                connection.sendall(bytes([byte]))
            except OSError:
                return
            time.sleep(0.02)


def test_redirects_share_one_deadline(server: FeedServer, http: SafeClient) -> None:
    def slowly(request: Request) -> Reply:
        server.pause(0.2)
        return Reply(status=302, headers={"Location": request.path + "x"})

    for number in range(8):
        server.answer("/" + "x" * number, slowly)
    start = time.monotonic()
    assert "within 0.5 seconds" in failure(http, server.url("/"), timeout=0.5)
    assert time.monotonic() - start < 2


def test_a_body_cut_short_is_no_answer(server: FeedServer, http: SafeClient) -> None:
    url = server.serve("/x", b"<rss>", headers={"Content-Length": "500", "Connection": "close"})
    server.answer("/x", lambda _: Reply(b"<rss>", headers={"Content-Length": "500", "Connection": "close"}))
    assert "ended before it was complete" in failure(http, url, timeout=3)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("example.org/feed", "not an address of the web"),
        ("feed://example.org", "not an address of the web"),
        ("", "not an address of the web"),
        ("http://[bad/", "not an address of the web"),
        ("http://a b/", "cannot be used"),
        ("http://127.0.0.1:1/", "refuses connections"),
    ],
)
def test_errors_say_what_was_wrong(http: SafeClient, url: str, words: str) -> None:
    assert words in failure(http, url)


def test_an_unknown_name_is_said_to_be_one() -> None:
    assert "There is no server named nowhere.invalid." in failure(SafeClient(), "http://nowhere.invalid/")


def test_a_wrongly_compressed_answer_is_an_error(server: FeedServer, http: SafeClient) -> None:
    url = server.serve("/x", "not gzip", headers={"Content-Encoding": "gzip"})
    assert "compressed in a way" in failure(http, url)


def test_tls_asks_for_the_name_and_checks_it(tmp_path: Path) -> None:
    names: list[str | None] = []
    path = self_signed(tmp_path, "feeds.example")
    context = server_context(path)
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    with FeedServer(tls=context) as server:
        server.serve("/x", "hello")
        http = SafeClient(allow=LOOPBACK, resolve=lambda *_: ["127.0.0.1"], verify=str(path))
        assert http.get(f"https://feeds.example:{server.port}/x").body == b"hello"
        assert names == ["feeds.example"]
        assert "certificate of other.example" in failure(http, f"https://other.example:{server.port}/x")
        distrustful = SafeClient(allow=LOOPBACK, resolve=lambda *_: ["127.0.0.1"])
        assert "certificate" in failure(distrustful, f"https://feeds.example:{server.port}/x")


def test_a_slow_drip_over_tls_ends_too(tmp_path: Path) -> None:
    path = self_signed(tmp_path, "feeds.example")
    with FeedServer(tls=server_context(path)) as server:
        server.serve("/x", b"x" * 1000, drip=0.02)
        http = SafeClient(allow=LOOPBACK, resolve=lambda *_: ["127.0.0.1"], verify=str(path))
        start = time.monotonic()
        assert "within 0.5 seconds" in failure(http, f"https://feeds.example:{server.port}/x", timeout=0.5)
        assert time.monotonic() - start < 2


@pytest.mark.django_db
def test_no_request_leaves_an_open_transaction(server: FeedServer, http: SafeClient) -> None:
    url = server.serve("/x", "hello")
    with transaction.atomic(), pytest.raises(NetworkInTransaction):
        http.get(url)
    with transaction.atomic(), pytest.raises(NetworkInTransaction):
        http.session().get(url)
    assert server.requests == []


def test_each_thread_has_its_own_session(server: FeedServer, http: SafeClient) -> None:
    url = server.serve("/x", "hello")
    http.get(url)
    thread = threading.Thread(target=http.get, args=(url,))
    thread.start()
    thread.join()
    assert wait_until(lambda: server.connections == 2)


def test_the_client_of_the_settings_allows_what_they_name(server: FeedServer, settings: object) -> None:
    url = server.serve("/x", "hello")
    settings.SITE_URL = "https://letters.example"  # type: ignore[attr-defined]
    settings.ALLOW_PRIVATE_NETWORKS = LOOPBACK  # type: ignore[attr-defined]
    assert client().get(url).body == b"hello"
    assert server.requests[0].headers["user-agent"].endswith("(+https://letters.example)")
    settings.ALLOW_PRIVATE_NETWORKS = []  # type: ignore[attr-defined]
    with pytest.raises(AddressRefused):
        client().get(url)


class TestRequest:
    def test_any_method_carries_json_and_headers(self, server: FeedServer, http: SafeClient) -> None:
        url = server.serve("/thing", '{"ok":1}', status=201, headers={"Location": "/made"})
        fetched = http.request("PUT", url, json={"name": "ü"}, headers={"Authorization": "Bearer x"})
        assert (fetched.status, fetched.headers["location"], fetched.body) == (201, "/made", b'{"ok":1}')
        (asked,) = server.asked("/thing")
        assert (asked.method, asked.body) == ("PUT", b'{"name": "\\u00fc"}')
        assert asked.headers["authorization"] == "Bearer x"
        assert asked.headers["content-type"] == "application/json"

    def test_a_name_of_a_form_may_come_several_times(self, server: FeedServer, http: SafeClient) -> None:
        http.request("POST", server.serve("/form"), data=[("category[]", "a"), ("category[]", "b c")])
        assert [asked.body for asked in server.asked("/form")] == [b"category%5B%5D=a&category%5B%5D=b+c"]

    def test_a_redirect_to_another_host_takes_no_token_along(
        self, server: FeedServer, http: SafeClient
    ) -> None:
        end = server.serve("/end").replace("127.0.0.1", "other.example")
        http.request(
            "POST",
            server.redirect("/start", end, 307),
            data={"a": "b"},
            headers={"Authorization": "Bearer x", "Accept": "application/json"},
        )
        (asked,) = server.asked("/end")
        assert "authorization" not in asked.headers
        assert (asked.headers["accept"], asked.body) == ("application/json", b"a=b")

    def test_an_answer_is_bounded(self, server: FeedServer, http: SafeClient) -> None:
        with pytest.raises(AnswerTooLarge):
            http.request("PUT", server.serve("/big", b"x" * 2000), json={}, max_bytes=1000)


class TestPost:
    """A form is posted where GET is allowed, and no further."""

    def test_a_form_arrives_and_its_answer_comes_whole(self, server: FeedServer, http: SafeClient) -> None:
        url = server.serve("/hub", "taken", status=202)
        fetched = http.post(url, data={"hub.topic": "https://e.org/ü?a=b&c"})
        assert (fetched.status, fetched.body) == (202, b"taken")
        (asked,) = server.requests
        assert asked.method == "POST"
        assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
        assert asked.body == b"hub.topic=https%3A%2F%2Fe.org%2F%C3%BC%3Fa%3Db%26c"

    @pytest.mark.parametrize("status", [307, 308])
    def test_the_same_form_goes_where_307_and_308_lead(
        self, server: FeedServer, http: SafeClient, status: int
    ) -> None:
        end = server.serve("/end", status=202)
        fetched = http.post(server.redirect("/hub", end, status), data={"a": "b"})
        assert (fetched.status, fetched.redirects) == (202, ((status, end),))
        assert [(asked.method, asked.body) for asked in server.asked("/end")] == [("POST", b"a=b")]

    @pytest.mark.parametrize("status", [301, 302, 303])
    def test_other_redirects_are_the_callers_to_judge(
        self, server: FeedServer, http: SafeClient, status: int
    ) -> None:
        assert http.post(server.redirect("/hub", "/end", status), data={"a": "b"}).status == status
        assert server.asked("/end") == []

    def test_five_redirects_are_followed_and_no_sixth(self, server: FeedServer, http: SafeClient) -> None:
        for number in range(6):
            server.redirect(f"/{number}", f"/{number + 1}", 307)
        server.serve("/6", "hello")
        assert http.post(server.url("/1"), data={}).body == b"hello"
        with pytest.raises(FetchError, match="redirects more than 5 times"):
            http.post(server.url("/0"), data={})

    def test_a_private_address_is_refused_behind_a_redirect_too(self, server: FeedServer) -> None:
        with pytest.raises(AddressRefused):
            SafeClient().post(server.url("/hub"), data={"a": "b"})
        assert server.connections == 0
        with pytest.raises(AddressRefused):
            SafeClient(allow=LOOPBACK).post(server.redirect("/hub", "http://10.0.0.1/", 307), data={})

    def test_what_came_encrypted_is_not_sent_on_without(self, server: FeedServer, tmp_path: Path) -> None:
        certificate = self_signed(tmp_path, "localhost")
        with FeedServer(tls=server_context(certificate)) as secure:
            secure.redirect("/hub", server.url("/end"), 307)
            url = f"https://localhost:{secure.port}/hub"
            client = SafeClient(allow=LOOPBACK, verify=str(certificate), resolve=lambda *_: ["127.0.0.1"])
            with pytest.raises(FetchError, match="without encryption"):
                client.post(url, data={"hub.secret": "x"})
        assert server.asked("/end") == []

    def test_a_time_out_and_a_large_answer_are_told_in_a_sentence(
        self, server: FeedServer, http: SafeClient
    ) -> None:
        with pytest.raises(FetchError, match=r"within 0\.3 seconds"):
            http.post(server.serve("/slow", b"x" * 1000, drip=0.02), data={}, timeout=0.3)
        with pytest.raises(AnswerTooLarge):
            http.post(server.serve("/big", b"x" * 2000), data={}, max_bytes=1000)
        with pytest.raises(FetchError, match="not an address of the web"):
            http.post("ftp://e.org/x", data={})


class TestSession:
    """For libraries that need a requests session."""

    def test_it_refuses_private_addresses_with_an_exception_of_requests(self, server: FeedServer) -> None:
        with pytest.raises(requests.RequestException) as caught:
            SafeClient().session().post(server.url("/x"), data={"a": "b"})
        assert isinstance(caught.value, AddressRefused)
        assert server.connections == 0

    def test_it_posts_once(self, server: FeedServer, http: SafeClient) -> None:
        server.serve("/x", "ok")
        assert http.session().post(server.url("/x"), data={"a": "b"}, timeout=300).text == "ok"
        assert [(request.method, request.body) for request in server.requests] == [("POST", b"a=b")]

    def test_a_post_whose_connection_breaks_is_not_repeated(self, http: SafeClient) -> None:
        accepted: list[int] = []
        with socket.create_server(("127.0.0.1", 0)) as listener:
            threading.Thread(target=_hang_up, args=(listener, accepted), daemon=True).start()
            with pytest.raises(requests.ConnectionError):
                http.session().post(f"http://127.0.0.1:{listener.getsockname()[1]}/", data=b"x", timeout=2)
            time.sleep(0.05)
        assert len(accepted) == 1

    def test_its_redirects_are_checked_too(self, server: FeedServer, http: SafeClient) -> None:
        session = SafeClient(allow=LOOPBACK).session()
        with pytest.raises(AddressRefused):
            session.get(server.redirect("/x", "http://169.254.169.254/"))

    def test_its_bodies_are_limited_redirects_included(self, server: FeedServer, http: SafeClient) -> None:
        server.serve("/big", b"x" * 6_000_000, status=302, headers={"Location": "/end"})
        server.serve("/end", "ok")
        with pytest.raises(AnswerTooLarge):
            http.session().get(server.url("/big"))

    def test_its_deadline_is_total(self, server: FeedServer, http: SafeClient) -> None:
        url = server.serve("/x", b"x" * 1000, drip=0.02)
        start = time.monotonic()
        with pytest.raises(requests.RequestException):
            http.session().get(url, timeout=(0.1, 0.2))
        assert time.monotonic() - start < 2

    def test_a_streamed_body_is_left_to_the_caller(self, server: FeedServer, http: SafeClient) -> None:
        url = server.serve("/x", b"x" * 6_000_000)
        with http.session().get(url, stream=True) as response:
            assert sum(map(len, response.iter_content(65536))) == 6_000_000


def _hang_up(listener: socket.socket, accepted: list[int]) -> None:
    for _ in range(3):
        try:
            connection, _address = listener.accept()
        except OSError:
            return
        accepted.append(1)
        connection.recv(65536)
        connection.close()
