"""Pytest plugin: `pytest -n 4` collects once and runs modules in four forks of this process.

Each worker gets its next module when it has run the one before, slow modules first. With
processes that start afresh, each would import and collect everything: half a minute and 600 MB.
"""

import json
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest

from tests.databases import KEPT

# Of the last run with workers: seconds of each module, and processor seconds of each test with its children.
SECONDS = "seconds.json"
# For a run without such a record: modules that took half a minute, longest first.
LONG = Path(__file__).parent.joinpath("long_modules.txt").read_text("utf-8").split()
# Which worker a process is, in the names of databases. "" without workers.
WORKER = "TEST_WORKER"
GRACE_SECONDS = 60

Items = list[pytest.Item]


def pytest_addoption(parser: pytest.Parser) -> None:
    # Lower case is reserved for pytest, and for what people type: -n is known from pytest-xdist.
    option = parser.getgroup("workers")._addoption
    option("-n", "--workers", type=int, default=0, help="run modules in so many forks")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    count = min(session.config.option.workers, len(session.items))
    if count < 2 or session.config.option.collectonly or session.testsfailed:
        return None
    Pool(session, count).run()
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


class Pool:
    """The parent's side: deals modules to workers, and hands their reports to pytest."""

    def __init__(self, session: pytest.Session, count: int) -> None:
        self.session, self.count = session, count
        by_module = [list(items) for _, items in groupby(session.items, key=lambda item: item.path)]
        seconds = recorded()
        by_module.sort(key=lambda items: seconds.get(key_of(items[0])) or guess(items), reverse=True)
        self.modules = by_module
        self.left = iter(range(len(by_module)))
        self.took: dict[str, float] = {}
        self.workers: dict[Connection, Worker] = {}

    def run(self) -> None:
        # Made here, so that each worker's is inside it.
        base = self.session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        try:
            for number in range(self.count):
                self.start(f"w{number}", [])
            while self.workers and not (self.session.shouldfail or self.session.shouldstop):
                for link in wait(list(self.workers)):
                    assert isinstance(link, Connection)
                    self.take(link)
        finally:
            self.end()
            with suppress(OSError):
                base.rmdir()
        record(self.took)

    def start(self, name: str, first: Items) -> None:
        ours, theirs = Pipe()
        # An interruption must find the fork in its own `try`, not in that of this loop.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        pid = os.fork()
        if pid:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            theirs.close()
            self.workers[ours] = Worker(name, pid, list(first))
            return
        code = 1
        try:
            # A shell ignores it in what it runs in the background.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
            for link in (ours, *self.workers):
                link.close()
            work(self.session, name, self.modules, first, theirs)
            code = 0
        except KeyboardInterrupt:
            # Servers and browsers of the fixtures end, too.
            self.session._setupstate.teardown_exact(None)
        except Exception:  # noqa: BLE001 - it is shown
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(code)

    def take(self, link: Connection) -> None:
        """Take a message of a worker: what it wants, reports, or its end."""
        worker, config = self.workers[link], self.session.config
        try:
            kind, value = link.recv()
        except (EOFError, ConnectionError):
            kind, value = "ended", None
        if kind == "ended":
            self.bury(link)
        elif kind == "more":
            module = next(self.left, None)
            if module is not None:
                worker.items += self.modules[module]
            with suppress(BrokenPipeError):
                link.send(module)
        elif kind == "begins" and not (worker.running and worker.running.nodeid == value):
            worker.running = next(item for item in worker.items if item.nodeid == value)
            del worker.items[: worker.items.index(worker.running) + 1]
        elif kind == "warning":
            config.hook.pytest_warning_recorded.call_historic(kwargs=value)
        elif kind == "took":
            worker.running = None
            self.took[value[0]] = self.took.get(value[0], 0) + value[1]
        elif kind == "report":
            report = config.hook.pytest_report_from_serializable(config=config, data=value)
            config.hook.pytest_runtest_logreport(report=report)

    def bury(self, link: Connection) -> None:
        """Report the test in which a worker died; another one goes on with the rest of its tests."""
        worker = self.workers.pop(link)
        link.close()
        _, status = os.waitpid(worker.pid, 0)
        if worker.running is None and not worker.items:
            return
        if worker.running is not None:
            said = f"The worker ended with status {os.waitstatus_to_exitcode(status)} in this test."
            report = pytest.TestReport(
                worker.running.nodeid, worker.running.location, {}, "failed", said, "call"
            )
            self.session.config.hook.pytest_runtest_logreport(report=report)
        if worker.items:
            self.start(f"{worker.name}a", worker.items)

    def end(self) -> None:
        """End workers that are left after an interruption."""
        for worker in self.workers.values():
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGINT)
        until = time.monotonic() + GRACE_SECONDS
        for worker in self.workers.values():
            while not os.waitpid(worker.pid, os.WNOHANG)[0]:
                if time.monotonic() > until:
                    os.kill(worker.pid, signal.SIGKILL)
                time.sleep(0.05)


class Worker:
    def __init__(self, name: str, pid: int, items: Items) -> None:
        self.name, self.pid, self.items = name, pid, items
        self.running: pytest.Item | None = None


def work(session: pytest.Session, name: str, modules: list[Items], todo: Items, link: Connection) -> None:
    """The worker's side: run modules until there are none."""
    config = session.config
    os.environ[WORKER] = name
    with own_output(config, name):
        config.pluginmanager.register(Reporter(config, link))

        def more() -> Items:
            link.send(("more", None))
            module = link.recv()
            return [] if module is None else modules[module]

        todo = list(todo) or list(more())
        while todo:
            item = todo.pop(0)
            following = todo[0] if todo else Following(todo, more)
            began, processors = time.monotonic(), sum(os.times()[:4])
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            link.send(("took", (key_of(item), time.monotonic() - began)))
            link.send(("took", (item.nodeid, sum(os.times()[:4]) - processors)))


class Following:
    """The next item after a module's last test, asked for when that test is over.

    pytest wants to know which fixtures to keep.
    """

    def __init__(self, todo: Items, more: Callable[[], Items]) -> None:
        self.todo, self.more = todo, more

    def listchain(self) -> list[Any]:
        if not self.todo:
            self.todo += self.more()
        return self.todo[0].listchain() if self.todo else []


@contextmanager
def own_output(config: pytest.Config, name: str) -> Iterator[None]:
    """Let a fork print nothing, capture into files of its own, and keep its files in a folder of its own."""
    manager = config.pluginmanager
    manager.unregister(name="terminalreporter")
    capture = manager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()
        capture.start_global_capturing()
    factory = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / name
    factory._basetemp.mkdir(mode=0o700)
    try:
        yield
    finally:
        if capture is not None:
            capture.stop_global_capturing()


class Reporter:
    """Sends what happens in a worker to the parent."""

    def __init__(self, config: pytest.Config, link: Connection) -> None:
        self.config, self.link = config, link

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.link.send(("begins", nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.link.send(("report", data))

    def pytest_warning_recorded(self, warning_message: Any, when: Any, nodeid: str, location: Any) -> None:
        message = {"warning_message": warning_message, "when": when, "nodeid": nodeid, "location": location}
        # A warning about an object that can't be sent is rare, and shown by `pytest` without workers.
        with suppress(Exception):
            self.link.send(("warning", message))


def guess(items: Items) -> float:
    """Return seconds for a module without a record."""
    if (module := key_of(items[0])) in LONG:
        return 1_000.0 - LONG.index(module)
    return sum(2.0 if item.get_closest_marker("slow") else 0.05 for item in items)


def key_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def recorded() -> dict[str, float]:
    with suppress(OSError, ValueError):
        return dict(json.loads((KEPT / SECONDS).read_text()))
    return {}


def record(took: dict[str, float]) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / SECONDS).write_text(json.dumps(recorded() | took))
