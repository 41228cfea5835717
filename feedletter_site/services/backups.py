import os
import secrets
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

from django.db import connection

from common.clock import utcnow
from common.refused import Refused
from feedletter_site.models import FirstStep

SQLITE = b"SQLite format 3\0"
# Name of the first step.
BACK_UP = "back_up"


class BackupError(Refused):
    pass


def back_up(path: Path) -> int:
    """Return the size. On BackupError there is no file."""
    if path.exists():
        raise BackupError(f"{path} is there already. Name a new file, such as one with the date.")
    # Two workers may begin at once: each writes another file.
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        part.touch(mode=0o600)
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("VACUUM INTO %s", [str(part)])
        else:
            _run("pg_dump", "--format=custom", f"--file={part}")
        part.replace(path)
    except OSError as error:
        raise BackupError(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        part.unlink(missing_ok=True)
    return path.stat().st_size


def note_back_up() -> None:
    """Nothing else records a backup."""
    FirstStep.objects.update_or_create(name=BACK_UP, defaults={"is_done": True, "at": utcnow()})


def put_back(path: Path) -> None:
    """Replace the database, which nothing else may use. Raises BackupError."""
    try:
        with path.open("rb") as file:
            is_sqlite = file.read(len(SQLITE)) == SQLITE
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}.") from error
    if is_sqlite != (connection.vendor == "sqlite"):
        here, there = ("SQLite", "PostgreSQL") if is_sqlite else ("PostgreSQL", "SQLite")
        raise BackupError(f"{path} is a copy of {here}, or none at all, and DATABASE_URL names {there}.")
    if is_sqlite:
        _replace_file(path, Path(connection.settings_dict["NAME"]))
    else:
        try:
            _run("pg_restore", "--clean", "--if-exists", "--no-owner", "--single-transaction", str(path))
        except BackupError as error:
            raise BackupError(f"{path} cannot be put back: {error}") from error


def _replace_file(copy: Path, database: Path) -> None:
    with closing(sqlite3.connect(f"file:{copy}?mode=ro", uri=True)) as known:
        try:
            result = known.execute("PRAGMA integrity_check").fetchone()[0]
        except sqlite3.DatabaseError as error:
            result = str(error)
    if result != "ok":
        raise BackupError(f"{copy} is damaged: {result.splitlines()[0]}.")
    connection.close()
    fresh = database.with_name(f"{database.name}.new")
    try:
        fresh.touch(mode=0o600)
        shutil.copyfile(copy, fresh)
        for suffix in ("-wal", "-shm"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)
        fresh.replace(database)
    except OSError as error:
        raise BackupError(f"{database} cannot be replaced: {error.strerror}.") from error


def _run(program: str, *arguments: str) -> None:
    """Keep the password out of the process list."""
    from psycopg.pq import Conninfo  # for PostgreSQL only

    facts: dict[str, Any] = connection.settings_dict
    names = {"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "USER", "PGPASSWORD": "PASSWORD"}
    given = {variable: str(facts[name]) for variable, name in names.items() if facts[name]}
    known = facts["OPTIONS"]
    for option in Conninfo.get_defaults():
        # Our `options` limit statements, but copying a table may take longer.
        if option.envvar and (name := option.keyword.decode()) in known and name != "options":
            given[option.envvar.decode()] = str(known[name])
    path = shutil.which(program)
    if path is None:
        raise BackupError(
            f"{program} is not installed here (Debian: postgresql-client). With docker compose: "
            "docs/operating/backup.md."
        )
    command = [path, f"--dbname={facts['NAME']}", "--no-password", *arguments]
    done = subprocess.run(  # noqa: S603 - our own program and words
        command, env={**os.environ, **given}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        message = (done.stderr.strip().splitlines() or ["it does not say why"])[-1]
        raise BackupError(f"{program} failed: {message}")
