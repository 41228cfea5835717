"""Databases with all tables, kept for each state of the migrations: migrating takes seconds."""

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.environment import SWITCHES
from tests.services import program

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "var" / "tests"
# They decide which tables and rows `migrate` makes.
SOURCES = (
    *("*/migrations/*.py", "*/*/migrations/*.py", "*/apps.py"),
    *("feedletter_site/settings.py", "feedletter_site/ticks/*.py"),
)
# States to keep, for work on several branches.
MOST_KEPT = 8


@cache
def migrated_file() -> Path:
    """Return an SQLite database, to be copied."""
    with kept("db") as file:
        if not file.exists():
            with tempfile.TemporaryDirectory(dir=KEPT) as folder:
                migrate(f"sqlite:///{folder}/migrated.db", Path(folder))
                Path(folder, "migrated.db").rename(file)
    return file


@cache
def migrated_database(server: str) -> str:
    """Return the name of a migrated database on that PostgreSQL, to be used as a template."""
    name = f"feedletter_migrated_{digest()[:16]}"
    with kept("sql") as file:
        if not has_database(server, name):
            # Under another name until it is complete: a test run may be ended at any time.
            draft = f"{name}_draft"
            create_database(server, draft, template="template1")
            restore_or_migrate(url_of(server, draft), file)
            with psycopg.connect(server, autocommit=True) as admin:
                admin.execute(f'ALTER DATABASE "{draft}" RENAME TO "{name}"')
    return name


def fill(url: str) -> None:
    """Create all tables in an empty database of any PostgreSQL."""
    with kept("sql") as file:
        restore_or_migrate(url, file)


def restore_or_migrate(url: str, file: Path) -> None:
    """Fill an empty database from what pg_dump wrote into the file; else migrate, and write the file."""
    psql, pg_dump = program("psql"), program("pg_dump")
    if file.exists() and psql:
        run([psql, "--quiet", "--set=ON_ERROR_STOP=1", f"--dbname={url}", f"--file={file}"])
        return
    with tempfile.TemporaryDirectory(dir=KEPT) as folder:
        migrate(url, Path(folder))
        if pg_dump and psql:
            run([pg_dump, "--no-owner", f"--dbname={url}", f"--file={folder}/migrated.sql"])
            Path(folder, "migrated.sql").rename(file)


@contextmanager
def kept(ending: str) -> Iterator[Path]:
    """Yield the file that is kept for today's migrations; one process at a time may make it."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield KEPT / f"{digest()}.{ending}"
        of_this_kind = sorted(KEPT.glob(f"*.{ending}"), key=lambda file: file.stat().st_mtime, reverse=True)
        for old in of_this_kind[MOST_KEPT:]:
            old.unlink()


@cache
def digest() -> str:
    """Return a name for the state of the program, as far as empty databases depend on it."""
    # The demo has a new bot each time, which is as good as any.
    switches = SWITCHES.get("READER"), bool(SWITCHES.get("DISCORD_APPLICATION_ID"))
    state = hashlib.sha256(repr(switches).encode())
    files = {file for pattern in SOURCES for file in ROOT.glob(pattern) if ".venv" not in file.parts}
    for file in (ROOT / "requirements" / "base.txt", *sorted(files)):
        state.update(f"{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return state.hexdigest()


def migrate(url: str, folder: Path) -> None:
    """Migrate. Raises AssertionError with the command's output on failure."""
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "DATABASE_URL": url,
        "DATA_DIR": str(folder),
        "SECRET_KEY": "a key for tests only, long enough to be one",
        **SWITCHES,
    }
    run([sys.executable, "manage.py", "migrate", "-v", "0"], environment)


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def has_database(server: str, name: str) -> bool:
    with psycopg.connect(server) as connection:
        return bool(connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone())


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
