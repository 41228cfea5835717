"""`make test`: the suite on SQLite, then what touches the database once more on PostgreSQL and Redis.

REQUIRE_SERVICES=1 makes a missing service a failure and adds the tests that are marked slow.
"""
# ruff: noqa: T201 - its words are for whoever typed `make test`

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack

from tests import services
from tests.services import Missing

REQUIRED = os.environ.get("REQUIRE_SERVICES") == "1"
LIMIT_SECONDS = 40 * 60


def main(arguments: list[str]) -> int:
    """Runs it all; the exit status is 0 when every run passed."""
    started, report, failed = time.monotonic(), [], False
    with ExitStack() as stack:
        environment, missing = start_services(stack)
        if missing and REQUIRED:
            print(f"REQUIRE_SERVICES=1, but missing: {', '.join(missing)}.", file=sys.stderr)
            return 1
        for name, url, extra in runs(stack, environment):
            took, code = run_suite(url, environment, [*extra, *arguments])
            failed = failed or code != 0
            report.append(f"{name} {'passed' if code == 0 else 'FAILED'} in {took:.0f} s")
    report += [f"not run for want of {name}" for name in missing]
    print(f"\nThe suite{', slow tests included' if REQUIRED else ''}: {'; '.join(report)}.", end=" ")
    print(f"{time.monotonic() - started:.0f} s in all.")
    return 1 if failed else 0


def start_services(stack: ExitStack) -> tuple[dict[str, str], list[str]]:
    """The environment that names the services there are, and what is missing."""
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


def runs(stack: ExitStack, environment: dict[str, str]) -> list[tuple[str, str, list[str]]]:
    """What to run: a name for the last line, the database, and arguments for pytest."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="feedletter-test-"))
    browser = " + Chromium" if "CHROMIUM" in environment else ""
    todo = [(f"SQLite{browser}", f"sqlite:///{folder}/feedletter.db", list[str]())]
    if url := environment.get("TEST_POSTGRES_URL"):
        name = "PostgreSQL + Redis" if "TEST_REDIS_URL" in environment else "PostgreSQL"
        todo.append((name, url.rsplit("/", 1)[0] + "/feedletter", ["--database-only"]))
    return todo


def run_suite(url: str, environment: dict[str, str], arguments: list[str]) -> tuple[float, int]:
    """Seconds taken, and pytest's exit status."""
    started = time.monotonic()
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        # (Slow tests wait more than they compute.)
        "3" if REQUIRED else "2",
        "--dist",
        "worksteal",
        *(["--slow", "--durations=30"] if REQUIRED else []),
        *arguments,
    ]
    print(f"== {url.split(':')[0]}: {' '.join(command[1:])}", flush=True)
    child = subprocess.Popen(command, env={**os.environ, **environment, "DATABASE_URL": url})
    try:
        code = child.wait(LIMIT_SECONDS)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        child.terminate()
        code = child.wait() or 1
    return time.monotonic() - started, code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
