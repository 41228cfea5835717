"""Migrations after the first of an app are safe beside the previous release."""

from typing import Any, cast

import pytest
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.migration import Migration
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ModelState, ProjectState

from common.postgresql.operations import AddIndexBeside
from feedletter_site.schema import OLDEST, OURS
from tests.upgrade.safety import unsafe


def later() -> list[Any]:
    """Return each migration after the first of its app, with the state before it."""
    found = []
    loader = MigrationLoader(None)
    for key, migration in sorted(loader.disk_migrations.items()):
        if key[0] in OURS and not key[1].startswith("0001"):
            before = loader.project_state(key, at_end=False)
            found.append(pytest.param(migration, before, id=".".join(key)))
    return found


@pytest.mark.parametrize(("migration", "before"), later())
def test_a_migration_is_safe_beside_the_release_before(migration: Migration, before: ProjectState) -> None:
    assert unsafe(migration, before) == []
    assert OLDEST.search(migration.name), "Name the oldest release that may run: 0002_note_beside_0_1_0"


def a_state() -> ProjectState:
    """Return an app with a large table's model and a small one's."""
    state = ProjectState()
    for name in ("Delivery", "Lane"):
        fields: list[tuple[str, models.Field[Any, Any]]] = [
            ("id", models.BigAutoField(primary_key=True)),
            ("key", models.CharField(max_length=64)),
            ("state", models.CharField(max_length=10, choices=[("a", "A")])),
            ("note", models.TextField(null=True)),
        ]
        state.add_model(ModelState("delivery", name, fields))
    return state


INDEX = models.Index(fields=["key"], name="by_key")
GOOD: list[tuple[bool, list[Operation]]] = [
    (True, [migrations.CreateModel("Stage", [("id", models.BigAutoField(primary_key=True))])]),
    (True, [migrations.AddField("delivery", "size", models.IntegerField(null=True))]),
    (True, [migrations.AddField("delivery", "size", models.IntegerField(db_default=0))]),
    (True, [migrations.AddField("lane", "others", models.ManyToManyField("delivery.lane"))]),
    (True, [migrations.AlterField("lane", "state", models.CharField(max_length=10, choices=[("b", "B")]))]),
    (True, [migrations.AlterField("lane", "key", models.CharField(max_length=80, help_text="So."))]),
    (True, [migrations.AlterField("lane", "key", models.CharField(max_length=64, null=True))]),
    (True, [migrations.AddIndex("lane", INDEX)]),
    (False, [AddIndexBeside("delivery", INDEX)]),
    (
        True,
        [
            migrations.CreateModel("Stage", [("id", models.BigAutoField(primary_key=True))]),
            migrations.AddField("stage", "name", models.TextField()),
            migrations.AddIndex("stage", models.Index(fields=["name"], name="by_name")),
        ],
    ),
    (
        True,
        [
            migrations.AddField("lane", "size", models.IntegerField(db_default=0)),
            migrations.AddConstraint(
                "lane", models.CheckConstraint(condition=models.Q(size__gte=0), name="size_positive")
            ),
        ],
    ),
    (True, [migrations.RunSQL("ALTER TABLE delivery_delivery SET (fillfactor = 80)")]),
]
BAD: list[tuple[bool, list[Operation]]] = [
    (True, [migrations.AddField("delivery", "size", models.IntegerField())]),
    (True, [migrations.AddField("delivery", "size", models.IntegerField(default=0))]),
    (True, [migrations.RemoveField("delivery", "key")]),
    (True, [migrations.RenameField("delivery", "key", "token")]),
    (True, [migrations.DeleteModel("Lane")]),
    (True, [migrations.RenameModel("Lane", "Road")]),
    (True, [migrations.AlterModelTable("lane", "roads")]),
    (True, [migrations.AlterField("lane", "key", models.IntegerField())]),
    (True, [migrations.AlterField("lane", "key", models.CharField(max_length=10))]),
    (True, [migrations.AlterField("lane", "note", models.TextField())]),
    (True, [migrations.AlterField("lane", "key", models.CharField(max_length=64, unique=True))]),
    (True, [migrations.AddIndex("delivery", INDEX)]),
    (True, [AddIndexBeside("delivery", INDEX)]),
    (True, [migrations.AddConstraint("lane", models.UniqueConstraint(fields=["key"], name="one_key"))]),
    (True, [migrations.RunSQL("ALTER TABLE delivery_lane DROP COLUMN key")]),
    (True, [migrations.RunSQL("ALTER TABLE delivery_lane SET (fillfactor = 80); DROP TABLE delivery_lane")]),
]


def a_migration(atomic: bool, operations: list[Operation]) -> Migration:
    kind = type("Change", (Migration,), {"operations": operations, "atomic": atomic})
    return cast(Migration, kind("0002_change", "delivery"))


@pytest.mark.parametrize(("atomic", "operations"), GOOD)
def test_what_the_release_before_does_not_notice_is_allowed(
    atomic: bool, operations: list[Operation]
) -> None:
    assert unsafe(a_migration(atomic, operations), a_state()) == []


@pytest.mark.parametrize(("atomic", "operations"), BAD)
def test_what_would_break_the_release_before_is_refused(atomic: bool, operations: list[Operation]) -> None:
    assert unsafe(a_migration(atomic, operations), a_state()) != []
