"""Real processes of the program for end-to-end tests, with logs for the error message."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import forks

ROOT = Path(__file__).parent.parent.parent
# Variables of this process that children must not inherit.
OURS = {"DATABASE_URL", "CELERY_BROKER_URL", "EMAIL_URL", "SITE_URL", "DATA_DIR", "BIND", "SECRET_KEY"}


def clean_environment(values: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the program's variables, plus `values` and our venv's PATH."""
    inherited = {name: value for name, value in os.environ.items() if name not in OURS}
    path = f"{Path(sys.executable).parent}{os.pathsep}{inherited.get('PATH', '')}"
    return {**inherited, "PATH": path, "PYTHONUNBUFFERED": "1", **values}


def manage(*arguments: str, environment: Mapping[str, str]) -> Any:
    """Run `manage.py … --json` and return the document. Raises AssertionError with its output."""
    done = forks.run(
        [sys.executable, "manage.py", *arguments, "--json"],
        cwd=ROOT,
        env=clean_environment(environment),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"manage.py {arguments[0]}: {done.stderr[-2000:]}"
    return json.loads(done.stdout)


@contextmanager
def running(
    name: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    logs: Path,
    grace: float = 40,
    *,
    folder: Path = ROOT,
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process in `folder` during the block; terminate it after, and show its log if the block fails."""
    log = logs / f"{name}.log"
    with log.open("wb") as output:
        process = forks.Process(
            command, cwd=folder, env=clean_environment(environment), stdout=output, stderr=subprocess.STDOUT
        )
        try:
            yield process
        except BaseException as error:
            error.add_note(f"--- {name}:\n{log.read_text(errors='replace')[-3000:]}")
            raise
        finally:
            process.terminate()
            try:
                process.wait(grace)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def until(condition: Callable[[], Any], what: str, seconds: float = 240) -> Any:
    """Return the condition's first true value. Raises AssertionError naming `what` on timeout."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"{what} did not happen within {seconds} seconds"
        time.sleep(0.1)
    return value


def answers(url: str) -> bool:
    """Return whether the URL responds with 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False
