"""New installation: a database, an environment, and real processes."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests import forks
from tests.databases import ROOT, create_database, drop_database, migrated_database, migrated_file, url_of
from tests.examples import NIGHTLY

# Workers' output goes to a file in the installation's folder, for failed tests.
WORKER = (
    "-m celery -A feedletter_site worker -P threads -c 10 -l warning --without-gossip --without-mingle "
    "--without-heartbeat -Q"
)


class Installation:
    """Commands and workers of the program in `root`, run against one database."""

    root = ROOT

    def __init__(self, folder: Path, database_url: str, **environment: str) -> None:
        self.folder = folder
        self.environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(folder),
            "DATA_DIR": str(folder),
            "DATABASE_URL": database_url,
            "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
            "POLL_HOST_GAP": "0",
            "SECRET_KEY": "a key for tests only, long enough to be one",
            "C_FORCE_ROOT": "1",
            **environment,
        }
        self.workers: list[subprocess.Popen[bytes]] = []

    def manage(self, *arguments: str, timeout: float = 120) -> str:
        """Run a command and return its output. Raises AssertionError with its output on failure."""
        done = self.python("manage.py", *arguments, timeout=timeout)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def script(self, text: str, timeout: float = 120) -> str:
        """Run Python in the program's environment, models loaded, and return its output."""
        setup = "import django; django.setup()\n"
        done = self.python("-c", setup + text, timeout=timeout)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Ask the database without a process of the program, which would keep a machine from the workers."""
        url = self.environment["DATABASE_URL"].partition("?")[0]
        is_file = url.startswith("sqlite")
        database = sqlite3.connect(url.removeprefix("sqlite:///")) if is_file else psycopg.connect(url)
        with closing(database):
            return database.execute(query).fetchall()

    def python(self, *arguments: str, timeout: float = 120) -> "subprocess.CompletedProcess[str]":
        environment = {**self.environment, "DJANGO_SETTINGS_MODULE": "feedletter_site.settings"}
        return forks.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def start(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        """Start a process that runs until `stop_all`."""
        log = (self.folder / "workers.log").open("ab")
        worker = forks.Process(
            [sys.executable, *arguments],
            cwd=self.root,
            env={**self.environment, **(environment or {})},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        self.workers.append(worker)
        return worker

    def start_worker(self, queues: str) -> "subprocess.Popen[bytes]":
        return self.start(*WORKER.split(), queues)

    def kill(self, worker: "subprocess.Popen[bytes]") -> None:
        # A worker that ended cleanly has left no children.
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait(10)
        self.workers.remove(worker)

    def stop(self, worker: "subprocess.Popen[bytes]") -> None:
        worker.terminate()
        worker.wait(60)
        self.workers.remove(worker)

    def stop_all(self) -> None:
        for worker in list(self.workers):
            self.kill(worker)

    def log(self) -> str:
        path = self.folder / "workers.log"
        return path.read_text(errors="replace")[-4000:] if path.exists() else ""


@contextmanager
def sqlite_installation(folder: Path, *, migrated: bool = True, **environment: str) -> Iterator[Installation]:
    installation = Installation(folder, f"sqlite:///{folder}/feedletter.db", **environment)
    try:
        if migrated:
            shutil.copy(migrated_file(), folder / "feedletter.db")
        yield installation
    finally:
        installation.stop_all()


@contextmanager
def postgres_installation(
    folder: Path, server: str, *, migrated: bool = True, pooler: str = "", **environment: str
) -> Iterator[Installation]:
    """Yield an installation on a new database, which is dropped afterwards; perhaps behind a pooler."""
    name = f"feedletter_{folder.name.replace('-', '_')}"[:60]
    create_database(server, name, template=migrated_database(server) if migrated else "template1")
    url = f"{url_of(pooler, name)}?prepare=off" if pooler else url_of(server, name)
    installation = Installation(folder, url, **environment)
    try:
        yield installation
    finally:
        installation.stop_all()
        drop_database(server, name)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=NIGHTLY)])
def installation(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Installation]:
    """On either database, with the mail server of the test's fixture `smtp`, if any.

    Ask for the parameter "pooler" to have PgBouncer in front.
    """
    mail = {"EMAIL_URL": request.getfixturevalue("smtp").url} if "smtp" in request.fixturenames else {}
    if request.param == "sqlite":
        with sqlite_installation(tmp_path, **mail) as made:
            yield made
    else:
        server = request.getfixturevalue("postgres_url")
        pooler = request.getfixturevalue("pooler_url") if request.param == "pooler" else ""
        with postgres_installation(tmp_path, server, pooler=pooler, **mail) as made:
            yield made
