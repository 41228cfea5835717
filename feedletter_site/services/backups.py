"""A copy of the database in BACKUP_DIR each night, and the deletion of old ones."""

import logging
import os
import re
import secrets
import shutil
import sqlite3
import subprocess
from collections.abc import Iterable
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from common.clock import utcnow
from common.refused import Refused
from feedletter_site.models import Figure, FirstStep

log = logging.getLogger(__name__)
# Of the site's time zone.
HOUR = 3
BACKUP_NAME = "backup"
LEAST_KEPT = 7
# And what a killed worker left of one.
COPY = re.compile(r"feedletter-\d{4}-\d{2}-\d{2}(?:\.\w+\.part)?")
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


def name_of(day: date) -> str:
    return f"feedletter-{day}"


def is_due(names: Iterable[str], local: datetime) -> bool:
    return local.hour >= HOUR and name_of(local.date()) not in names


def old_backups(names: Iterable[str], today: date, keep_days: int) -> list[str]:
    """Return the copies to be deleted. Other files stay."""
    oldest = name_of(today - timedelta(days=keep_days))
    return [name for name in names if COPY.fullmatch(name) and name < oldest]


def back_up_tonight(*, now: datetime) -> None:
    """Copies stay while backups fail: old ones are deleted after a new one is there."""
    if not settings.BACKUP_DIR:
        return
    folder, local = Path(settings.BACKUP_DIR), timezone.localtime(now)
    problem = ""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_due([each.name for each in folder.iterdir()], local):
            return
        size = back_up(folder / name_of(local.date()))
        names = sorted(each.name for each in folder.iterdir() if COPY.fullmatch(each.name))
        # A clock that jumps ahead must not delete them all.
        least = min(LEAST_KEPT, max(settings.BACKUP_KEEP_DAYS, 1))
        for name in old_backups(names[:-least], local.date(), settings.BACKUP_KEEP_DAYS):
            (folder / name).unlink()
    except (BackupError, OSError) as error:
        problem = str(error)
        log.error("the nightly backup failed: %s", problem)
    else:
        log.info("a backup of %s bytes is in %s", size, folder)
        note_back_up()
    Figure.objects.update_or_create(
        pk=BACKUP_NAME, defaults={"value": {"problem": problem}, "counted_at": now}
    )
