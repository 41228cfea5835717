"""A worker outlives a Redis that is killed while it has ticks, or that is read-only."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import Celery

from tests.e2e.journey import SECRET
from tests.e2e.processes import running, until
from tests.services import free_port, program

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not program("redis-server"), reason="Redis")]

WORKER = [*(sys.executable, "-m", "celery", "--skip-checks", "-A", "tests.servers.slow_ticks", "worker")]
WORKER += [*("-P", "threads", "-c", "2", "--without-gossip", "--without-mingle", "--without-heartbeat")]


def test_a_worker_goes_on_after_its_redis_was_away(tmp_path: Path) -> None:
    port = free_port()
    url = f"redis://127.0.0.1:{port}/0"
    server = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    done = tmp_path / "ticks"
    done.touch()
    log = tmp_path / "worker.log"
    environment = {
        "SECRET_KEY": SECRET,
        "DATA_DIR": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path}/feedletter.db",
        "CELERY_BROKER_URL": url,
        "LOG_FORMAT": "console",
        "TICKS": str(done),
        "TMPDIR": str(tmp_path),
    }
    client: Any = redis.Redis.from_url(url)

    def tick(times: int) -> None:
        with Celery(broker=url, set_as_current=False) as sender:
            for _ in range(times):
                sender.send_task("slow", queue="default")

    def ticks() -> int:
        assert "Unrecoverable" not in log.read_text()
        return len(done.read_text().splitlines())

    with running("worker", WORKER, environment, tmp_path):
        with running("redis", server, {}, tmp_path) as broker:
            until(lambda: answered(client.ping), "Redis")
            tick(1)
            until(lambda: ticks() == 1, "the first tick")
            tick(9)
            until(lambda: client.llen("default") < 7, "ticks in the worker's hands")
            broker.kill()
        with running("redis", server, {}, tmp_path):
            until(lambda: answered(client.ping), "Redis")
            before = ticks()
            tick(1)
            until(lambda: ticks() > before, "a tick after the outage")
            client.replicaof("127.0.0.1", "1")
            until(lambda: "ReadOnlyError" in log.read_text(), "the refusal")
            client.replicaof("no", "one")
            before = ticks()
            tick(1)
            until(lambda: ticks() > before, "a tick after the refusals")
    assert "Traceback" not in log.read_text()
    assert "RESTORE" not in log.read_text()


def answered(ask: Callable[[], object]) -> bool:
    try:
        return bool(ask())
    except redis.ConnectionError:
        return False
