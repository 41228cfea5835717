"""Foreign servers that never respond do not stop the web process."""

import shutil
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
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
