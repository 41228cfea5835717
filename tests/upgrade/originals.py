"""The migrations as the releases before had them: one by one, none squashed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db.migrations.loader import MigrationLoader


@contextmanager
def only_originals() -> Iterator[None]:
    """Within it, Django finds no squashed migration on the disk."""
    load = MigrationLoader.load_disk

    def load_originals(loader: Any) -> None:
        load(loader)
        there = loader.disk_migrations
        last = {key: migration.replaces[-1] for key, migration in there.items() if migration.replaces}
        loader.disk_migrations = {key: migration for key, migration in there.items() if key not in last}
        # makemigrations lets what comes after a squashed one depend on that.
        for migration in loader.disk_migrations.values():
            migration.dependencies = [last.get(key, key) for key in migration.dependencies]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MigrationLoader, "load_disk", load_originals)
        yield


def migrate_by_originals() -> None:
    """`migrate`, as the release before does it."""
    from django.core.management import call_command

    with only_originals():
        call_command("migrate", verbosity=0)


def migrate_but_the_last() -> None:
    """All that was squashed, but the last migration of each app: a release some time before."""
    from django.db import connection
    from django.db.migrations.executor import MigrationExecutor

    squashed = MigrationLoader(None).replacements.values()
    with only_originals():
        MigrationExecutor(connection).migrate([migration.replaces[-2] for migration in squashed])
