"""The web process as `manage.py up` starts it, against misbehaving clients over real sockets.

Foreign servers that never respond do not stop the web process.
"""

import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest

from common.net.web_slots import SLOTS
from feedletter_site.management.commands.up import plan
from tests.databases import migrated_file
from tests.e2e.journey import SECRET
from tests.e2e.processes import answers, manage, running, until
from tests.services import free_port

WEB_THREADS = 8
MEGABYTE = b"x" * 1024 * 1024
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST = HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
# Half a request line, half a head, half a body, and blank lines.
HALVES = (
    b"GET /hea",
    b"GET /healthz HTTP/1.1\r\nHost: loc",
    b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200\r\n\r\nemail=",
    b"\r\n\r\n",
)


@dataclass(frozen=True)
class Web:
    port: int
    # Folder of the process's temporary files.
    temporary: Path

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def said(self, request: bytes) -> bytes:
        """Return its response, up to the end of the connection."""
        with self.connect() as connection:
            connection.sendall(request)
            return b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    folder = tmp_path_factory.mktemp("web")
    temporary = folder / "tmp"
    temporary.mkdir()
    port = free_port()
    environment = {
        "SECRET_KEY": SECRET,
        "DATA_DIR": str(folder),
        "DATABASE_URL": f"sqlite:///{folder}/feedletter.db",
        "TMPDIR": str(temporary),
    }
    command = [
        "tests.servers.impatient_worker.ImpatientWorker" if "BufferingWorker" in word else word
        for word in plan(f"127.0.0.1:{port}", processes=2).commands["web"]
    ]
    with running("web", command, environment, folder):
        until(lambda: answers(f"http://127.0.0.1:{port}/healthz"), "healthz")
        yield Web(port, temporary)


@pytest.mark.parametrize("path", ["/", "/sign-in/", "/s/news/", "/v0/subscription/create"])
def test_a_large_file_of_a_stranger_is_refused_before_a_byte_is_on_the_disk(web: Web, path: str) -> None:
    """A folder's mtime changes with each file created in it, even if deleted since."""
    before = os.stat(web.temporary).st_mtime_ns
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000000\r\nConnection: close\r\n"
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
    with web.connect() as connection:
        connection.sendall(head.encode() + b"Content-Type: multipart/form-data; boundary=x\r\n\r\n" + part)
        connection.sendall(MEGABYTE)
        status, _, _ = connection.recv(65536).partition(b"\r\n")
    # Python 3.13 calls it Content Too Large.
    assert status.startswith(b"HTTP/1.1 413 ")
    assert os.stat(web.temporary).st_mtime_ns == before


@pytest.mark.parametrize("path", ["/", "/sign-in/", "/api/v1/feeds/"])
def test_a_body_without_its_length_is_refused(web: Web, path: str) -> None:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    assert web.said(head.encode() + b"5\r\nhello\r\n0\r\n\r\n").startswith(b"HTTP/1.1 411 ")


def seconds_to_answer(web: Web) -> float:
    begin = time.monotonic()
    assert web.said(LAST).endswith(b"\r\n\r\nok\n")
    return time.monotonic() - begin


def test_sixty_half_sent_requests_stop_nobody(web: Web) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(web.connect()) for _ in range(60)]
        for number, connection in enumerate(slow):
            connection.sendall(HALVES[number % len(HALVES)])
        assert min(seconds_to_answer(web) for _ in range(3)) < 1
        # More such clients change nothing, and each one times out.
        stop = threading.Event()
        drip = threading.Thread(target=dripping, args=(slow, stop))
        drip.start()
        try:
            assert min(seconds_to_answer(web) for _ in range(3)) < 1
            assert all(ends(connection) for connection in slow)
        finally:
            stop.set()
            drip.join()


def dripping(connections: list[socket.socket], stop: threading.Event) -> None:
    while not stop.wait(0.2):
        for connection in connections:
            try:
                connection.send(b"x")
            except OSError:
                continue


def ends(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_clients_who_do_not_close_stop_nobody(web: Web) -> None:
    """gunicorn's own worker waits two seconds for each of them, and serves nobody meanwhile."""
    with ExitStack() as stack:
        for connection in [stack.enter_context(web.connect()) for _ in range(20)]:
            connection.sendall(LAST)
        assert min(seconds_to_answer(web) for _ in range(3)) < 1


def test_requests_come_in_any_pieces_and_one_after_the_other(web: Web) -> None:
    body = b"email=no-address"
    post = (
        b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        + b"Content-Length: %d\r\n\r\n" % len(body)
        + body
    )
    with web.connect() as connection:
        for byte in b"\r\n" + HEALTH:
            connection.sendall(bytes([byte]))
        assert read_answer(connection).endswith(b"ok\n")
        connection.sendall(HEALTH + HEALTH[:20])
        assert read_answer(connection).endswith(b"ok\n")
        connection.sendall(HEALTH[20:])
        assert read_answer(connection).endswith(b"ok\n")
        connection.sendall(post[:-5])
        connection.sendall(post[-5:] + HEALTH)
        assert b"HTTP/1.1 400" in read_answer(connection)
        assert read_answer(connection).endswith(b"ok\n")


def read_answer(connection: socket.socket) -> bytes:
    """Read one response with Content-Length."""
    said = b""
    while b"\r\n\r\n" not in said:
        said += connection.recv(1)
    length = int(said.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    end = len(said) + length
    while len(said) < end:
        said += connection.recv(end - len(said))
    return said


def test_a_client_that_waits_to_go_on_is_told_to(web: Web) -> None:
    head = b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n"
    with web.connect() as connection:
        connection.sendall(head + b"Connection: close\r\n\r\n")
        assert connection.recv(64).startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
        connection.sendall(b"a=bcd")
        assert b"HTTP/1.1 400" in b"".join(iter(lambda: connection.recv(65536), b""))


@pytest.mark.slow
def test_a_head_without_an_end_is_refused(web: Web) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: %s\r\n" % (b"x" * 1000) * 70
    assert web.said(head).startswith(b"HTTP/1.1 431 ")


@pytest.mark.slow
def test_more_connections_than_there_is_room_for_close_the_one_that_waits_longest(web: Web) -> None:
    with ExitStack() as stack:
        waiting = [stack.enter_context(web.connect()) for _ in range(520)]
        assert seconds_to_answer(web) < 5
        assert ends(waiting[0])


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """Run a server that accepts connections and never responds."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=100)) as server:
        yield server


def status_of(request: Request) -> int:
    try:
        with urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except HTTPError as error:
        with error:
            return error.code if error.code != 503 or error.headers["Retry-After"] else 0


@pytest.mark.slow
def test_three_times_as_many_slow_look_ups_as_threads_leave_threads_for_pages(
    silent: socket.socket, tmp_path: Path
) -> None:
    port = free_port()
    shutil.copy(migrated_file(), tmp_path / "feedletter.db")
    environment = {
        "SECRET_KEY": SECRET,
        "DATA_DIR": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path}/feedletter.db",
        "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
        "READER": "open",
    }
    key = manage("add_reader", "ada", environment=environment)["key"]
    query = urlencode({"action": "preview", "url": f"http://127.0.0.1:{silent.getsockname()[1]}/feed"})
    preview = Request(
        f"http://127.0.0.1:{port}/microsub/ada?{query}", headers={"Authorization": f"Bearer {key}"}
    )
    command = plan(f"127.0.0.1:{port}", processes=2).commands["web"]
    with running("web", command, environment, tmp_path):
        until(lambda: answers(f"http://127.0.0.1:{port}/healthz"), "healthz")
        with ThreadPoolExecutor(3 * WEB_THREADS) as pool:
            looks = [pool.submit(status_of, preview) for _ in range(3 * WEB_THREADS)]
            refused = 3 * WEB_THREADS - SLOTS
            until(lambda: sum(look.done() for look in looks) == refused, "the refusals", seconds=10)
            # Requests with a slot still wait for the silent server.
            assert [look.result() for look in looks if look.done()] == [503] * refused
            assert all(answers(f"http://127.0.0.1:{port}/healthz") for _ in range(20))
            assert sum(look.done() for look in looks) == refused
            silent.close()
        # A slot is free again after its request: the next look-up also queries the server.
        assert status_of(preview) != 503
