"""`make test`: the suite on SQLite, and the database tests on PostgreSQL and Redis.

REQUIRE_SERVICES=1 adds the slow tier and makes a missing service a failure; `make nightly` runs all tiers.
"""
# ruff: noqa: T201 - its words are for whoever typed `make test`

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from tests import databases, forks, services
from tests.services import Missing

REQUIRED = os.environ.get("REQUIRE_SERVICES") == "1"
LIMIT_SECONDS = 55 * 60
NIGHTLY = "--nightly"
# pytest's exit status if it has no tests to run.
NO_TESTS = 5
# A wait that is too short on a busy machine does not hold back a release. pytest names what it retried.
RETRIES = ("--reruns", "2", "--reruns-delay", "2", "-rR")


@dataclass(frozen=True)
class Run:
    """One run of pytest: its database, arguments, and where its output and failures go."""

    name: str
    environment: dict[str, str]
    arguments: list[str]
    folder: Path
    # `make test ARGS=…` may name no test of the second database.
    may_be_empty: bool = False

    @property
    def words(self) -> Path:
        return self.folder / "output.txt"

    def verdict(self, code: int) -> str:
        return "passed" if code == 0 or (self.may_be_empty and code == NO_TESTS) else "FAILED"

    def start(self, *, aloud: bool, more: list[str]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "pytest", "-q", "-o"]
        command += [f"cache_dir={self.folder}/cache", *self.arguments, *more]
        print(f"== {self.name}: {' '.join(command[2:])}", flush=True)
        output = None if aloud else self.words.open("wb")
        return subprocess.Popen(command, env=self.environment, stdout=output, stderr=output)


def main(arguments: list[str]) -> int:
    """Run everything; the exit status is 0 if every run passed."""
    signal.signal(signal.SIGTERM, end)
    # A shell ignores it for programs in the background, and pytest would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    started = time.monotonic()
    with ExitStack() as stack:
        environment, missing = start_services(stack)
        if missing and REQUIRED:
            print(f"REQUIRE_SERVICES=1, but missing: {', '.join(missing)}.", file=sys.stderr)
            return 1
        prepare(environment)
        report = side_by_side(runs(stack, environment, arguments), started)
    report += [f"not run for want of {name}" for name in missing]
    print(f"\nThe suite{', slow tests included' if REQUIRED else ''}: {'; '.join(report)}.", end=" ")
    print(f"{time.monotonic() - started:.0f} s in all.")
    return 1 if any("FAILED" in line for line in report) else 0


def end(number: int, frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt, so that child processes are ended where they were started."""
    raise KeyboardInterrupt


def start_services(stack: ExitStack) -> tuple[dict[str, str], list[str]]:
    """Return the environment that names the available services, and the missing ones."""
    environment, missing = {"REQUIRE_SERVICES": "1" if REQUIRED else ""}, []
    for variable, service in (
        ("TEST_POSTGRES_URL", services.postgres),
        ("TEST_REDIS_URL", services.redis_server),
    ):
        try:
            environment[variable] = stack.enter_context(service())
        except Missing as error:
            missing.append(str(error))
    try:
        environment["CHROMIUM"] = services.chromium()
    except Missing as error:
        missing.append(str(error))
    return environment, missing


def prepare(environment: dict[str, str]) -> None:
    """Make what every process of pytest would wait for: migrated databases, and a server for forks."""
    with ThreadPoolExecutor() as all_at_once:
        tasks: list[Future[Any]] = [all_at_once.submit(databases.migrated_file)]
        if url := environment.get("TEST_POSTGRES_URL"):
            tasks.append(all_at_once.submit(databases.migrated_database, url))
        environment[forks.SERVER] = forks.start_server()
        for task in tasks:
            task.result()


def runs(stack: ExitStack, environment: dict[str, str], arguments: list[str]) -> list[Run]:
    """Return the runs, longest first."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="feedletter-test-")))
    tier = []
    if NIGHTLY in arguments:
        arguments = [each for each in arguments if each != NIGHTLY]
        tier = ["-m", "", "--hypothesis-profile=nightly", "--durations=30"]
    elif REQUIRED:
        tier = ["-m", "not slow(nightly=True)", "--durations=30"]

    def run(name: str, url: str, *extra: str) -> Run:
        place = folder / name.split()[0]
        place.mkdir()
        everything = {**os.environ, **environment, "DATABASE_URL": url}
        # pytest's rewritten asserts are cached: rewriting them takes each worker seconds.
        everything.pop("PYTHONDONTWRITEBYTECODE", None)
        return Run(name, everything, [*tier, *RETRIES, *extra, *arguments], place, bool(extra and arguments))

    browser = " + Chromium" if "CHROMIUM" in environment else ""
    todo = [run(f"SQLite{browser}", f"sqlite:///{folder}/feedletter.db")]
    if url := environment.get("TEST_POSTGRES_URL"):
        redis = " + Redis" if "TEST_REDIS_URL" in environment else ""
        server = url.rsplit("/", 1)[0]
        places = [] if arguments else places_of_second_database()
        todo.append(run(f"PostgreSQL{redis}", f"{server}/feedletter", "--second-database", *places))
    return todo


def places_of_second_database() -> list[str]:
    """Return what the second run need collect: a third of the tests, which takes a third of the time."""
    files = [
        file
        for file in sorted(Path("tests").rglob("*.py"))
        if "\nSECOND_DATABASE = True\n" in f"\n{file.read_text('utf-8')}"
    ]
    return [str(file.parent if file.name == "conftest.py" else file) for file in files]


def side_by_side(todo: list[Run], started: float) -> list[str]:
    """Run side by side; return a line for each run.

    Tests wait more than they compute: two cores keep six workers busy. More would make leases expire.
    """
    workers = (4, 2)
    children = [
        run.start(aloud=place == 0, more=["-n", str(workers[place])]) for place, run in enumerate(todo)
    ]
    ended = []
    try:
        for child in children:
            code = child.wait(max(started + LIMIT_SECONDS - time.monotonic(), 0))
            ended.append((code, time.monotonic() - started))
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        return ["FAILED: it was ended"]
    finally:
        for child in children:
            if child.poll() is None:
                child.send_signal(signal.SIGINT)
                child.wait()
    for run in todo[1:]:
        print(run.words.read_text("utf-8", "replace"), flush=True)
    return [
        f"{run.name} {run.verdict(code)} by {took:.0f} s"
        for run, (code, took) in zip(todo, ended, strict=True)
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
