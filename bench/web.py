"""The site as in docker-compose, with two gunicorn workers."""

import http.client
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.services import free_port

WORKERS, THREADS = 2, 8
# Concurrent, with keep-alive.
READERS = 4
PATIENCE_SECONDS = 30.0

Ask = Callable[[http.client.HTTPConnection, int], None]


@dataclass(frozen=True, slots=True)
class Answered:
    """Answers a second, and the 95th percentile."""

    rate: float
    p95_ms: float


@contextmanager
def site(**environment: str) -> Iterator[int]:
    """Yield the port. `environment` is added to the settings' database."""
    port = free_port()
    command = [
        *(sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--log-level", "error"),
        *("-k", "common.web_worker.BufferingWorker", "-w", str(WORKERS)),
        *("--threads", str(THREADS), "feedletter_site.wsgi"),
    ]
    process = subprocess.Popen(command, cwd=Path(__file__).parent.parent, env={**os.environ, **environment})
    try:
        _wait(port)
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def get(path: str, headers: Mapping[str, str] | None = None) -> Ask:
    def ask(connection: http.client.HTTPConnection, _number: int) -> None:
        connection.request("GET", path, headers=dict(headers or {}))
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status

    return ask


def answered(port: int, ask: Ask, *, count: int, readers: int = READERS) -> Answered:
    """Ask `count` times, after a warm-up."""
    _seconds(port, ask, range(-count // 10, 0), readers)
    begun = time.perf_counter()
    seconds = sorted(_seconds(port, ask, range(count), readers))
    rate = count / (time.perf_counter() - begun)
    return Answered(rate, seconds[int(len(seconds) * 0.95)] * 1000)


def _seconds(port: int, ask: Ask, numbers: range, readers: int) -> list[float]:
    def read(mine: range) -> list[float]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        return [_timed(ask, connection, number) for number in mine]

    with ThreadPoolExecutor(readers) as pool:
        shares = pool.map(read, (numbers[each::readers] for each in range(readers)))
        return [second for share in shares for second in share]


def _timed(ask: Ask, connection: http.client.HTTPConnection, number: int) -> float:
    begun = time.perf_counter()
    ask(connection, number)
    return time.perf_counter() - begun


def _wait(port: int) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        assert time.monotonic() < end, "gunicorn does not answer"
        time.sleep(0.1)
