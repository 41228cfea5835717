"""Faults without kills: outages, freezes and wrong clocks, and how long no letter arrives.

Each fault declares how long its letters last, acts at its own moments, and names the log line that must
report it.
"""

import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

from tests import services
from tests.databases import fill
from tests.load import shifted_clock
from tests.load.chaos_cluster import running_cluster
from tests.load.chaos_run import BEAT, SETUP, START_SECONDS, WORKER, Run
from tests.load.chaos_verdict import Chaos, Event, Verdict, judge
from tests.load.installation import Installation
from tests.load.sink import running_sink
from tests.servers.frozen_proxy import FrozenProxy

# Seconds: limits of the time without letters, and of a worker's end.
LONGEST_SILENCE, LONGEST_END = 60.0, 10.0
# Seconds of sending left after the fault.
AFTERWARDS = 25.0
RATE = 25.0
# Processes whose clocks are changed.
CLOCKS = ("worker", "beat")
MIGRATION = """
from django.db import connection, models
from delivery.models import Delivery
field = models.CharField(max_length=20, db_default="")
field.contribute_to_class(Delivery, "chaos")
with connection.schema_editor() as editor:
    editor.add_field(Delivery, field)
index = models.Index(fields=["sent_at"], name="chaos_sent_at")
with connection.schema_editor(atomic=False) as editor:
    editor.add_index(Delivery, index, concurrently=True)
print("migrated")
"""


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault during sending.

    `do` takes so many seconds. `tells` are log lines that must report it, `counts` the metric that must: a
    name and its label.
    """

    seconds: float
    do: "Callable[[FaultRun], None]"
    tells: tuple[str, ...]
    counts: str = ""
    clocks: bool = False
    workers: int = 2

    def chaos(self, seed: int = 0) -> Chaos:
        letters = int((self.seconds + AFTERWARDS) * RATE)
        return Chaos(letters=letters, rate=RATE, workers=self.workers, seed=seed)


class Broker:
    """Redis that restarts on the same port."""

    def __init__(self) -> None:
        self.port = services.free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if (program := services.program("redis-server")) is None:
            raise services.Missing("Redis (Debian: redis-server)")
        quiet = subprocess.DEVNULL
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self._process = subprocess.Popen(command, stdout=quiet, stderr=quiet, cwd="/")
        services.wait_until(lambda: socket.create_connection(("127.0.0.1", self.port)).close(), "Redis")

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None


class FaultRun(Run):
    """Run of real workers, beat, PostgreSQL behind a proxy, and Redis, with one fault."""

    fault: Fault
    proxy: FrozenProxy
    broker: Broker
    clocks: dict[str, dict[str, str]]

    def verdict(self) -> Verdict:
        printed = self.site.script(SETUP.format(**self._numbers()), timeout=300)
        assert printed.strip() == str(self.chaos.letters)
        self.beat = self.start_beat()
        self.workers = [self.start_worker() for _ in range(self.chaos.workers)]
        self._wait(lambda: bool(self.sink.copies()), START_SECONDS)
        self.began = time.monotonic()
        self.fault.do(self)
        self._wait(self._is_over, self.chaos.seconds + 300)
        self.say("over")
        return judge(
            wanted=[f"reader{n}@mail{n % 20}.example" for n in range(self.chaos.letters)],
            copies=self.sink.copies(),
            events=self.events,
            connections=self.chaos.connections,
            ledger=self.ledger(),
        )

    def start_worker(self) -> "subprocess.Popen[bytes]":
        return self.site.start(*WORKER, environment=self.clocks["worker"])

    def start_beat(self) -> "subprocess.Popen[bytes]":
        return self.site.start(*BEAT, environment=self.clocks["beat"])

    def at(self, seconds: float, what: str) -> float:
        """Wait until so many seconds after the first letter, print `what`, and return the time."""
        self._pass_time(self.began + seconds)
        self.say(what)
        return time.time()

    def shift(self, process: str, seconds: float) -> None:
        shifted_clock.shift(self.site.folder, process, seconds)

    def end(self, place: int) -> float:
        """Terminate a worker and start a new one; return how long it took to end."""
        worker, began = self.workers[place], time.monotonic()
        worker.send_signal(signal.SIGTERM)
        while worker.poll() is None and time.monotonic() - began < 40:
            time.sleep(0.05)
        took = time.monotonic() - began
        self.site.kill(worker)
        self.workers[place] = self.start_worker()
        self.say(f"a worker ended {took:.1f} s after TERM")
        return took

    def silence(self) -> float:
        """Return the longest time without a letter, between the first and the last."""
        times = sorted(copy.at for copy in self.sink.copies())
        return max((later - earlier for earlier, later in pairwise(times)), default=0.0)

    def untold(self) -> list[str]:
        """Return the expected log lines that are missing."""
        log = (self.site.folder / "workers.log").read_text(errors="replace")
        return [words for words in self.fault.tells if not re.search(words, log)]

    def is_counted(self) -> bool:
        with psycopg.connect(self.cluster.url, connect_timeout=5) as database:
            rows = database.execute("SELECT name || ' ' || label FROM feedletter_site_counted")
            return not self.fault.counts or (self.fault.counts,) in rows.fetchall()

    def broken(self, verdict: Verdict) -> list[str]:
        silence = self.silence()
        found = verdict.broken()
        if silence > LONGEST_SILENCE:
            found.append(f"{silence:.0f} seconds of silence")
        found += [f"the log does not say: {words}" for words in self.untold()]
        if not self.is_counted():
            found.append(f"/metrics does not count: {self.fault.counts}")
        if self.died_alone:
            found.append(f"{self.died_alone} processes ended by themselves")
        return found


def redis_goes(run: FaultRun) -> None:
    run.at(3, "Redis is killed")
    run.broker.kill()
    run.at(58, "Redis is back")
    run.broker.start()


def beat_hangs(run: FaultRun) -> None:
    assert run.beat is not None
    run.at(3, "beat is frozen")
    os.killpg(run.beat.pid, signal.SIGSTOP)
    run.at(53, "beat goes on")
    os.killpg(run.beat.pid, signal.SIGCONT)


def database_fails_over(run: FaultRun) -> None:
    """Freeze the proxy; half a minute later another server accepts new connections."""
    began = run.at(5, "the database is gone without a word")
    run.proxy.freeze()
    at = run.at(17, "TERM to a worker")
    took = run.end(0)
    run.events.append(Event("kill", at, time.time()))
    run.cluster.restart("immediate")
    run.at(31, "another database answers")
    run.proxy.heal()
    run.events.append(Event("restart", began, time.time()))
    assert took <= LONGEST_END, f"a worker took {took:.0f} s to end"


def database_fails_over_at_once(run: FaultRun) -> None:
    """Old connections stay silent, new ones work: only the statements themselves can notice."""
    began = run.at(5, "the database is gone without a word, another one answers")
    run.proxy.freeze()
    run.cluster.restart("immediate")
    run.proxy.heal()
    run.events.append(Event("restart", began, time.time()))


def clocks_are_wrong(run: FaultRun) -> None:
    """Of all send workers, then of beat, each while running; and one worker starts with a wrong clock."""
    moment = 3.0
    for process in CLOCKS:
        for seconds in (5.0, -5.0, 3600.0, -3600.0):
            run.at(moment, f"{process}: {seconds:+.0f} s")
            run.shift(process, seconds)
            if process == "worker" and abs(seconds) > 5:
                began = run.at(moment + 5, "a worker is killed, another starts with the wrong time")
                run.site.kill(run.workers[0])
                run.workers[0] = run.start_worker()
                run.events.append(Event("kill", began, time.time()))
            moment += 16
            run.at(moment, f"{process}: right again")
            run.shift(process, 0)
            moment += 4


def a_worker_is_frozen(run: FaultRun) -> None:
    """Freeze a worker, if possible while it holds a transaction open."""
    began = run.at(3, "a worker is frozen")
    caught = any(_frozen_in_transaction(run, run.workers[0].pid) for _ in range(60))
    if not caught:
        os.killpg(run.workers[0].pid, signal.SIGSTOP)
    run.say("it holds a transaction" if caught else "it holds none")
    run.at(103, "it goes on")
    os.killpg(run.workers[0].pid, signal.SIGCONT)
    run.events.append(Event("stop", began, time.time()))


def _frozen_in_transaction(run: FaultRun, pid: int) -> bool:
    """Freeze it; unfreeze it unless it holds a transaction open."""
    os.killpg(pid, signal.SIGSTOP)
    time.sleep(0.15)
    with psycopg.connect(run.cluster.url, connect_timeout=5) as database:
        row = database.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
            " AND state_change < clock_timestamp() - interval '0.1 s'"
        ).fetchone()
    if row and row[0]:
        return True
    os.killpg(pid, signal.SIGCONT)
    time.sleep(run.chance.uniform(0.01, 0.1))
    return False


def a_release_is_deployed(run: FaultRun) -> None:
    """Add a column and an index to deliveries beside the old workers; then replace each worker."""
    run.at(5, "migrate")
    assert "migrated" in run.site.script(MIGRATION)
    for place in range(len(run.workers)):
        run.at(15 + 10 * place, "a worker is replaced")
        run.end(place)
    run.at(40, "deployed")


FAULTS = {
    "redis": Fault(
        58, redis_goes, ("No tick of delivery.send came", "The broker accepts no tick"), "trouble no_ticks"
    ),
    "beat": Fault(53, beat_hangs, ("No tick of delivery.send came",), "trouble no_ticks"),
    "failover": Fault(40, database_fails_over, ("has not answered for",), "trouble database_silent"),
    "takeover": Fault(20, database_fails_over_at_once, ("has not answered for",), "trouble database_silent"),
    "clocks": Fault(
        165,
        clocks_are_wrong,
        ("clock is 3[56].. seconds ahead of", "clock is 3[56].. seconds behind", "clock was moved by"),
        "trouble clock_wrong",
        clocks=True,
    ),
    "frozen": Fault(103, a_worker_is_frozen, ("This worker did nothing for",), "trouble stood_still"),
    "deploy": Fault(
        40,
        a_release_is_deployed,
        ("A worker of release .* ended in good order", "The worker .* of release .* began"),
        "workers ended",
    ),
}


@contextmanager
def prepared(fault: Fault, say: Callable[[str], None], *, seed: int = 0) -> Iterator[FaultRun]:
    """Run new servers and an empty installation; delete them afterwards. Raises Missing."""
    with ExitStack() as stack:
        cluster = stack.enter_context(running_cluster())
        sink = stack.enter_context(running_sink())
        broker = Broker()
        stack.callback(broker.kill)
        broker.start()
        parts = urlsplit(cluster.url)
        proxy = stack.enter_context(FrozenProxy("127.0.0.1", parts.port or 5432))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="feedletter-chaos-")))
        url = urlunsplit(parts._replace(netloc=f"postgres@127.0.0.1:{proxy.port}"))
        environment: dict[str, Any] = {
            "EMAIL_URL": f"smtp://127.0.0.1:{sink.port}",
            "CELERY_BROKER_URL": broker.url,
            "BOUNCE_DOMAIN": "bounces.example.org",
            "PYTHONWARNINGS": "ignore",
        }
        site = Installation(folder, url, **environment)
        stack.callback(site.stop_all)
        fill(cluster.url)
        run = FaultRun(fault.chaos(seed), cluster, sink, site, say)
        run.fault, run.proxy, run.broker = fault, proxy, broker
        run.clocks = {name: shifted_clock.install(folder, name) if fault.clocks else {} for name in CLOCKS}
        yield run
