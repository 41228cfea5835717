"""Event streams of the web process as `manage.py up` starts it, over real sockets."""

import json
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

from feedletter_site.management.commands.up import plan
from tests.e2e.processes import answers, until
from tests.load.installation import Installation, sqlite_installation
from tests.services import free_port

NEEDS_APP = "reader"
pytestmark = pytest.mark.slow

PEOPLE = 10
MAKE_PEOPLE = f"""
import json
from common.clock import utcnow
from reader.people.readers import add_reader
from reader.people.tokens import make_token
now = utcnow()
print(json.dumps({{name: make_token(reader=add_reader(name=name, now=now), client="test", now=now)[1]
                  for name in (f"reader{{number}}" for number in range({PEOPLE}))}}))
"""


@dataclass
class Web:
    """Web process, with the tokens of its readers by name."""

    port: int
    process: "subprocess.Popen[bytes]"
    keys: dict[str, str]

    def open(self, name: str) -> socket.socket:
        """Request a stream; return the connection without reading the response."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        connection.sendall(
            f"GET /microsub/{name}?action=events HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {self.keys[name]}\r\n\r\n".encode()
        )
        return connection

    def channels(self, name: str) -> float:
        """Return the seconds that an ordinary request takes."""
        began = time.monotonic()
        url = f"http://127.0.0.1:{self.port}/microsub/{name}?action=channels"
        asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {self.keys[name]}"})
        with urllib.request.urlopen(asked, timeout=30) as answer:
            assert len(json.load(answer)["channels"]) == 2
        return time.monotonic() - began


def people(installation: Installation) -> dict[str, str]:
    """Create the readers; return their tokens by name."""
    made: dict[str, str] = json.loads(installation.script(MAKE_PEOPLE).splitlines()[-1])
    return made


def web(installation: Installation, keys: dict[str, str], *, threads: int = 8) -> Web:
    port = free_port()
    _, *arguments = plan(f"127.0.0.1:{port}", processes=2).commands["web"]
    arguments[-1:-1] = ["--threads", str(threads)]
    process = installation.start(*arguments)
    until(lambda: answers(f"http://127.0.0.1:{port}/healthz"), "the start")
    return Web(port, process, keys)


def status(connection: socket.socket) -> int:
    """Return the status from the beginning of a response."""
    return int(connection.recv(4096).split()[1])


@pytest.fixture
def one_for_ten(tmp_path: Path) -> Iterator[Web]:
    with sqlite_installation(tmp_path) as installation:
        yield web(installation, people(installation))


def test_twenty_who_ask_for_streams_leave_the_others_their_answers(one_for_ten: Web) -> None:
    names = [name for name in one_for_ten.keys for _ in range(2)]
    with ExitStack() as stack:
        connections = [stack.enter_context(one_for_ten.open(name)) for name in names]
        assert sorted(map(status, connections)) == [200] * 2 + [503] * 18
        seconds = [one_for_ten.channels("reader0") for _ in range(20)]
        assert median(seconds) < 0.1
    # A closed stream frees its slot at once.
    until(lambda: is_let_in(one_for_ten), "room", 5)


def is_let_in(web: Web) -> bool:
    with web.open("reader5") as connection:
        return status(connection) == 200


def test_term_ends_the_process_beside_twenty_streams(tmp_path: Path) -> None:
    with sqlite_installation(tmp_path, READER_STREAMS="20") as installation, ExitStack() as stack:
        keys = people(installation)
        without = seconds_to_end(installation, web(installation, keys, threads=28))
        many = web(installation, keys, threads=28)
        names = [name for name in many.keys for _ in range(2)]
        connections = [stack.enter_context(many.open(name)) for name in names]
        assert list(map(status, connections)) == [200] * 20
        # A stream that stays would end with gunicorn's grace, after 20 seconds.
        assert seconds_to_end(installation, many) < 3 * max(without, 4)


def seconds_to_end(installation: Installation, web: Web) -> float:
    began = time.monotonic()
    web.process.send_signal(signal.SIGTERM)
    assert web.process.wait(20) == 0
    installation.workers.remove(web.process)
    return time.monotonic() - began
