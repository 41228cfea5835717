"""A new database is made in a few steps, and is the same as one that has come all the way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import AddField, CreateModel
from django.db.migrations.recorder import MigrationRecorder

from common.db.squashed import SquashedMigration
from feedletter_site.schema import too_old
from tests.load.installation import Installation
from tests.upgrade.frozen import PACKAGES
from tests.upgrade.originals import only_originals
from tests.upgrade.schemas import rows, schema
from tests.upgrade.test_data import DATABASES, installed

Key = tuple[str, str]

# One for each app, and some that came after. Where there are more, it is time to squash those, too.
AT_MOST = 20
APPLIED = "SELECT app, name FROM django_migrations"
TICKS = "SELECT name, enabled, expire_seconds FROM django_celery_beat_periodictask"


def test_a_new_database_takes_few_steps() -> None:
    graph = MigrationLoader(None).graph
    assert len([app for app, _ in graph.nodes if app in PACKAGES]) <= AT_MOST


def test_squashed_migrations_only_make_models() -> None:
    for migration in MigrationLoader(None).replacements.values():
        assert isinstance(migration, SquashedMigration)
        assert {type(operation) for operation in migration.operations} <= {CreateModel, AddField}


def test_the_models_are_the_same_by_either_way() -> None:
    with only_originals():
        originals = MigrationLoader(None)
    squashed = MigrationLoader(None)
    # Two that follow the same one: where that was squashed, makemigrations does not see it.
    assert originals.detect_conflicts() == {}
    changes = MigrationAutodetector(originals.project_state(), squashed.project_state())
    assert changes.changes(squashed.graph) == {}


def keys(plan: list[tuple[Any, bool]]) -> list[Key]:
    return [(migration.app_label, migration.name) for migration, _ in plan]


def installations() -> Iterator[set[Key]]:
    """What may be applied somewhere: all up to one migration, and all that does without one."""
    with only_originals():
        graph = MigrationLoader(None).graph
    steps: list[Key] = []
    for leaf in graph.leaf_nodes():
        steps += [key for key in graph.forwards_plan(leaf) if key not in steps]
    for count, step in enumerate(steps):
        yield set(steps[:count])
        yield set(steps) - set(graph.backwards_plan(step))


@pytest.mark.slow
def test_an_installation_goes_on_from_wherever_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    squashed = MigrationLoader(None).replacements
    every = MigrationLoader(None).disk_migrations.keys() - squashed.keys()
    for applied in installations():
        # `migrate APP` notes what is complete of the other apps, too.
        noted = {key for key, migration in squashed.items() if applied.issuperset(migration.replaces)}
        for recorded in (applied, applied | noted):
            answer = dict.fromkeys(recorded)
            monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda _, answer=answer: answer)
            executor = MigrationExecutor(connection)
            executor.loader.check_consistent_history(connection)
            plan = keys(executor.migration_plan(executor.loader.graph.leaf_nodes()))
            replaced = [step for key in plan if key in squashed for step in squashed[key].replaces]
            assert applied.isdisjoint(replaced), "what is partly there goes on by the originals"
            assert {*plan, *replaced} - squashed.keys() == every - applied


@pytest.mark.slow
@pytest.mark.django_db
def test_the_release_before_takes_a_new_database_for_its_own() -> None:
    with only_originals():
        executor = MigrationExecutor(connection)
        executor.loader.check_consistent_history(connection)
        assert executor.migration_plan(executor.loader.graph.leaf_nodes()) == []
        assert too_old(connection) == ""


@pytest.fixture(params=DATABASES)
def fresh_and_old(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[Installation, Installation]]:
    """One that the squashed migrations made, and an empty one."""
    beside = tmp_path / f"{tmp_path.name}_fresh"
    beside.mkdir()
    with (
        installed(request.param, beside, request, migrated=True) as fresh,
        installed(request.param, tmp_path, request, migrated=False) as old,
    ):
        yield fresh, old


def assert_equal(fresh: Installation, old: Installation) -> None:
    one, other = fresh.environment["DATABASE_URL"], old.environment["DATABASE_URL"]
    assert schema(one) ^ schema(other) == set()
    assert rows(one, TICKS) == rows(other, TICKS)
    assert rows(one, APPLIED) == rows(other, APPLIED)


@pytest.mark.long
def test_what_the_originals_made_is_the_same_and_only_noted(
    fresh_and_old: tuple[Installation, Installation],
) -> None:
    fresh, old = fresh_and_old
    old.script("from tests.upgrade.originals import migrate_by_originals; migrate_by_originals()")
    url = old.environment["DATABASE_URL"]
    assert not [name for _, name in rows(url, APPLIED) if "squashed" in name]
    made = schema(url)
    assert "No migrations to apply." in old.manage("migrate")
    assert schema(url) == made
    assert_equal(fresh, old)


@pytest.mark.long
def test_what_lacks_the_last_of_each_app_gets_them_one_by_one(
    fresh_and_old: tuple[Installation, Installation],
) -> None:
    fresh, old = fresh_and_old
    old.script("from tests.upgrade.originals import migrate_but_the_last; migrate_but_the_last()")
    said = old.manage("migrate")
    for migration in MigrationLoader(None).replacements.values():
        assert f"Applying {'.'.join(migration.replaces[-1])}..." in said
        assert f"Applying {migration}..." not in said
    assert_equal(fresh, old)


@pytest.mark.long
@pytest.mark.parametrize("database", DATABASES)
def test_they_can_be_taken_back(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with installed(database, tmp_path, request, migrated=True) as site:
        url = site.environment["DATABASE_URL"]
        made = schema(url)
        site.manage("migrate", "subscriptions", "zero")
        assert "subscriptions_destination" not in {name for name, *_ in schema(url)}
        site.manage("migrate", "-v", "0")
        assert schema(url) == made
