"""The linter of migrations finds changes that aren't safe while the previous release runs.

Released migrations stay as they are; changes are appended.
"""

import shutil
from pathlib import Path
from typing import Any, cast

import pytest
from django.db import migrations, models
from django.db.migrations.migration import Migration
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ModelState, ProjectState

from common.postgresql.base import AddIndexBeside
from tests.databases import ROOT
from tests.upgrade.frozen import frozen, violations
from tests.upgrade.safety import unsafe

FIRST = "delivery/migrations/0001_initial.py"
INDEX = models.Index(fields=["key"], name="by_key")
GOOD: list[tuple[bool, list[Operation]]] = [
    (True, [migrations.CreateModel("Stage", [("id", models.BigAutoField(primary_key=True))])]),
    (True, [migrations.AddField("delivery", "size", models.IntegerField(null=True))]),
    (True, [migrations.AddField("delivery", "size", models.IntegerField(db_default=0))]),
    (True, [migrations.AddField("lane", "others", models.ManyToManyField("delivery.lane"))]),
    (True, [migrations.AlterField("lane", "state", models.CharField(max_length=10, choices=[("b", "B")]))]),
    (False, [AddIndexBeside("delivery", INDEX)]),
    (
        True,
        [
            migrations.CreateModel("Stage", [("id", models.BigAutoField(primary_key=True))]),
            migrations.AddField("stage", "name", models.TextField(null=True)),
            migrations.AddIndex("stage", models.Index(fields=["name"], name="by_name")),
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
    (True, [migrations.AlterField("lane", "key", models.CharField(max_length=64, null=True))]),
    (True, [migrations.AddIndex("delivery", INDEX)]),
    (True, [AddIndexBeside("delivery", INDEX)]),
    (True, [migrations.AddConstraint("lane", models.UniqueConstraint(fields=["key"], name="one_key"))]),
    (True, [migrations.RunSQL("ALTER TABLE delivery_lane DROP COLUMN key")]),
    (True, [migrations.RunSQL("ALTER TABLE delivery_lane SET (fillfactor = 80); DROP TABLE delivery_lane")]),
]


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


def a_migration(atomic: bool, operations: list[Operation]) -> Migration:
    kind = type("Change", (Migration,), {"operations": operations, "atomic": atomic})
    return cast(Migration, kind("0002_change", "delivery"))


@pytest.mark.parametrize(("atomic", "operations"), GOOD)
def test_what_the_release_before_does_not_notice_is_allowed(
    atomic: bool, operations: list[Operation]
) -> None:
    assert unsafe(a_migration(atomic, operations), a_state()) == ""


@pytest.mark.parametrize(("atomic", "operations"), BAD)
def test_what_would_break_the_release_before_is_refused(atomic: bool, operations: list[Operation]) -> None:
    assert unsafe(a_migration(atomic, operations), a_state()) != ""


def test_a_migration_can_allow_a_change_that_is_safe_all_the_same() -> None:
    wider = migrations.AlterField("lane", "key", models.CharField(max_length=80))
    migration = a_migration(True, [wider])
    assert "changing-column-type" in unsafe(migration, a_state())
    migration.allowed = ["changing-column-type"]  # type: ignore[attr-defined]
    assert unsafe(migration, a_state()) == ""


def test_removing_a_unique_constraint_is_refused() -> None:
    state = a_state()
    state.models["delivery", "lane"].fields["key"] = models.CharField(max_length=64, unique=True)
    change = migrations.AlterField("lane", "key", models.CharField(max_length=64))
    assert "ban-removal" in unsafe(a_migration(True, [change]), state)


def test_no_released_migration_was_changed_or_removed() -> None:
    assert FIRST in frozen()
    assert violations(ROOT) == []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for path in frozen():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    return tmp_path


def test_a_changed_migration_is_named_with_the_way_out(copy: Path) -> None:
    (copy / FIRST).write_text((copy / FIRST).read_text() + "\n")
    (sentence,) = violations(copy)
    assert sentence.startswith(f"{FIRST} was changed.")
    assert "put the change into a new migration" in sentence


def test_a_removed_migration_is_named(copy: Path) -> None:
    (copy / FIRST).unlink()
    assert [sentence.split(".py")[1][:12] for sentence in violations(copy)] == [" is missing."]


def test_a_migration_may_be_appended_but_not_put_before_a_released_one(copy: Path) -> None:
    (copy / FIRST).with_name("0002_later.py").touch()
    assert violations(copy) == []
    (copy / FIRST).with_name("0000_earlier.py").touch()
    (sentence,) = violations(copy)
    assert sentence.startswith("delivery/migrations/0000_earlier.py is before")
