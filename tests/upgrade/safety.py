"""`python -m tests.upgrade.safety`: lint migrations that aren't frozen yet, with squawk.

They must be safe while the previous release runs, so they only add to tables, and lock none for long. If a
rule doesn't apply, the migration says so with the reason: `allowed = ["changing-column-type"]`.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import django
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.backends.postgresql.schema import DatabaseSchemaEditor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.migration import Migration
from django.db.migrations.state import ProjectState

from feedletter_site.checks import OLDEST, OUR_APPS
from tests.upgrade.frozen import frozen

# Migrations have no time limits (common/postgresql/base.py), and Django chooses the types.
EXCLUDED = ["require-lock-timeout", "require-statement-timeout", "prefer-bigint-over-int"]
EXCLUDED += ["prefer-bigint-over-smallint", "prefer-text-field", "prefer-robust-stmts"]


# Our own rule.
REMOVAL = "ban-removal"


class NeedsDatabase(Exception):
    """The migration alters or removes a constraint, whose name is in the database only."""


class Offline(DatabaseWrapper):
    # The oldest that Django supports.
    pg_version = 140_000

    def cursor(self) -> Any:
        raise NeedsDatabase


class Editor(DatabaseSchemaEditor):
    """Collects SQL without a connection."""

    def execute(self, sql: Any, params: Any = ()) -> None:
        text = str(sql) if params is None else str(sql) % tuple(map(self.quote_value, params))
        self.collected_sql.append(f"{text.rstrip(';')};")


def unsafe(migration: Migration, before: ProjectState) -> str:
    """Return what isn't safe, or "". `before` is not changed."""
    allowed = getattr(migration, "allowed", [])
    try:
        text = sql(migration, before)
    except NeedsDatabase:
        return "" if REMOVAL in allowed else f"{migration}: {REMOVAL}: {NeedsDatabase.__doc__}"
    command = [str(Path(sys.executable).with_name("squawk")), "--reporter", "gcc"]
    command += ["--exclude", ",".join([*EXCLUDED, *allowed]), "--stdin-filepath", str(migration)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def sql(migration: Migration, before: ProjectState) -> str:
    """Return the migration as SQL of PostgreSQL."""
    state = before.clone()
    editor = Editor(Offline({}), collect_sql=True, atomic=False)
    with editor:
        for operation in migration.operations:
            old = state.clone()
            operation.state_forwards(migration.app_label, state)
            if operation.reduces_to_sql:
                operation.database_forwards(migration.app_label, editor, old, state)
    lines = ["BEGIN;", *editor.collected_sql, "COMMIT;"] if migration.atomic else editor.collected_sql
    return "\n".join(lines)


def later() -> list[tuple[Migration, ProjectState]]:
    """Return each migration that isn't frozen, with the state before it."""
    loader = MigrationLoader(None)
    released = {tuple(path.removesuffix(".py").split("/migrations/")) for path in frozen()}
    return [
        (migration, loader.project_state(key, at_end=False))
        for key, migration in sorted(loader.disk_migrations.items())
        if key[0] in OUR_APPS and key not in released
    ]


def lint() -> None:
    reports = []
    for migration, before in later():
        reports.append(unsafe(migration, before))
        if not OLDEST.search(migration.name):
            reports.append(f"{migration}: name the oldest release that may run, as in 0002_note_beside_0_1_0")
    sys.exit("\n".join(filter(None, reports)) or 0)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "feedletter_site.settings")
    django.setup()
    lint()
