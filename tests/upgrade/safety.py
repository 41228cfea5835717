"""Migrations that are safe while the previous release is running."""

import re
from collections.abc import Iterator
from typing import Any

from django.db.migrations.migration import Migration
from django.db.migrations.operations import (
    AddConstraint,
    AddField,
    AddIndex,
    AlterField,
    AlterModelManagers,
    AlterModelOptions,
    CreateModel,
    RemoveConstraint,
    RemoveIndex,
    RunPython,
    RunSQL,
)
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import Field, ManyToManyField
from django.db.models.fields import NOT_PROVIDED

from common.postgresql.operations import AddIndexBeside

HARMLESS = (CreateModel, RemoveIndex, RemoveConstraint, AlterModelOptions, AlterModelManagers, RunPython)
# Tables that grow with every post and every letter: locking one during a build stops the service.
LARGE = {
    "feeds": {"item", "poll"},
    "subscriptions": {"destination", "subscription", "consent"},
    "delivery": {"attempt", "delivery", "issueitem", "mailboxmessage", "webhookcall"},
    "reader": {"entry", "place", "star", "unread"},
}
# A table's parameters: that locks it for a moment only.
PARAMETERS = re.compile(r"(ALTER TABLE \S+ (RE)?SET \([^;]*\);?\s*)+\Z", re.IGNORECASE)


def unsafe(migration: Migration, before: ProjectState) -> list[str]:
    """Return the changes that would break the previous release's workers, a sentence each.

    `before` is not changed.
    """
    state = before.clone()
    return [
        sentence for operation in migration.operations for sentence in judged(migration, operation, state)
    ]


def judged(migration: Migration, operation: Operation, state: ProjectState) -> Iterator[str]:
    """Yield sentences about one operation, and apply it to the state."""
    added = own(migration)
    match operation:
        case AddField() | AlterField() if operation.model_name_lower in added:
            pass
        case AddField():
            yield from added_field(operation)
        case AlterField():
            old = state.models[migration.app_label, operation.model_name_lower].fields[operation.name]
            yield from altered_field(operation, old)
        case AddIndex():
            yield from added_index(migration, operation, added)
        case AddConstraint():
            if operation.model_name_lower not in added and not of_new_fields(migration, operation):
                yield f"{operation.describe()}: what the release before writes may break it."
        case RunSQL():
            if not PARAMETERS.match(str(operation.sql)):
                yield "Raw SQL cannot be judged: use an operation."
        case _ if not isinstance(operation, HARMLESS):
            yield f"{operation.describe()}: the release before reads what this takes away."
    operation.state_forwards(migration.app_label, state)


def own(migration: Migration) -> set[str]:
    """Return the models that this migration creates: nobody uses them yet."""
    return {one.name_lower for one in migration.operations if isinstance(one, CreateModel)}


def of_new_fields(migration: Migration, operation: AddConstraint) -> bool:
    """Return whether the constraint is about a field that the migration adds to its model."""
    added = (one for one in migration.operations if isinstance(one, AddField))
    names = {one.name for one in added if one.model_name_lower == operation.model_name_lower}
    return any(re.search(rf"\b{name}(__|\b)", repr(operation.constraint)) for name in names)


def added_field(operation: AddField) -> Iterator[str]:
    field: Any = operation.field
    if isinstance(field, ManyToManyField) or field.null or field.db_default is not NOT_PROVIDED:
        return
    yield (
        f"{operation.model_name}.{operation.name} is neither nullable nor has a db_default: "
        "the release before inserts rows without it."
    )


def altered_field(operation: AlterField, old: "Field[Any, Any]") -> Iterator[str]:
    """Texts and choices may change; in the database a field may only become wider."""
    was, becomes = in_database(old), in_database(operation.field)
    wider = (becomes.get("max_length") or 0) >= (was.get("max_length") or 0)
    nullable = becomes.get("null", False) or not was.get("null", False)
    for free in ("max_length", "null", "db_default", "default"):
        was.pop(free, None)
        becomes.pop(free, None)
    if was != becomes or not wider or not nullable:
        yield f"{operation.model_name}.{operation.name} changes in the database."


def in_database(field: "Field[Any, Any]") -> dict[str, Any]:
    _, path, args, kwargs = field.deconstruct()
    facts = {name: value for name, value in kwargs.items() if name not in field.non_db_attrs}
    return {"path": path, "args": args, **facts}


def added_index(migration: Migration, operation: AddIndex, added: set[str]) -> Iterator[str]:
    large = operation.model_name_lower in LARGE.get(migration.app_label, set())
    if not large or operation.model_name_lower in added:
        return
    if not isinstance(operation, AddIndexBeside) or migration.atomic:
        yield (
            f"{operation.describe()}: the table is large. Use common.postgresql.operations.AddIndexBeside "
            "and atomic = False."
        )
