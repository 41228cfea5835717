"""Databases with all tables. Migrating takes seconds, so it is done once per run."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.environment import SWITCHES

ROOT = Path(__file__).resolve().parents[1]
# Where tests/run.py has put them.
FILE, DATABASE = "TEST_MIGRATED_FILE", "TEST_MIGRATED_DATABASE"


@cache
def migrated_file() -> Path:
    """Return an SQLite database, to be copied."""
    if given := os.environ.get(FILE):
        return Path(given)
    folder = Path(tempfile.mkdtemp(prefix="feedletter-migrated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return migrate_file(folder)


def migrate_file(folder: Path) -> Path:
    """Create it in that folder."""
    file = folder / "migrated.db"
    migrate(f"sqlite:///{file}", folder)
    return file


@cache
def migrated_database(server: str) -> str:
    """Return the name of a migrated database on that PostgreSQL, to be used as a template."""
    if given := os.environ.get(DATABASE):
        return given
    name = f"feedletter_migrated_{os.getpid()}"
    atexit.register(drop_database, server, name)
    return migrate_database(server, name)


def migrate_database(server: str, name: str) -> str:
    """Create it under that name."""
    create_database(server, name, template="template1")
    with tempfile.TemporaryDirectory(prefix="feedletter-migrated-") as folder:
        migrate(url_of(server, name), Path(folder))
    return name


def migrate(url: str, folder: Path) -> None:
    """Migrate. Raises AssertionError with the command's output on failure."""
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "DATABASE_URL": url,
        "DATA_DIR": str(folder),
        "SECRET_KEY": "a key for tests only, long enough to be one",
        **SWITCHES,
    }
    command = [sys.executable, "manage.py", "migrate", "-v", "0"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def url_of(server: str, name: str) -> str:
    return urlsplit(server)._replace(path=f"/{name}").geturl()


def create_database(server: str, name: str, *, template: str) -> None:
    drop_database(server, name)
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')


def drop_database(server: str, name: str) -> None:
    """A server that is already stopped has no database either."""
    with suppress(psycopg.OperationalError), psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
