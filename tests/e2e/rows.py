"""Rows of most tables (rows.json), inserted with their times moved to the present."""

import json
import uuid
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management.color import no_style
from django.db import connection, models, transaction

from common.clock import utcnow
from common.secrets import Sealed, SecretsField

FILE = Path(__file__).parent / "rows.json"
WRITTEN = datetime.fromisoformat("2026-03-02T12:00:00+00:00")


def load() -> None:
    """Insert all rows, and set the sequences to go on after them."""
    tables: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    shift = utcnow() - WRITTEN
    with transaction.atomic():
        for label, table in tables.items():
            model = apps.get_model(label)
            fields = {field.attname: field for field in model._meta.concrete_fields}
            rows = (zip(table["columns"], row, strict=True) for row in table["rows"])
            model._base_manager.bulk_create(
                model(**{name: value(fields[name], given, shift) for name, given in row}) for row in rows
            )
    reset = connection.ops.sequence_reset_sql(no_style(), [apps.get_model(label) for label in tables])
    with connection.cursor() as cursor:
        for statement in reset:
            cursor.execute(statement)


def value(field: "models.Field[Any, Any]", given: Any, shift: timedelta) -> Any:
    """Return the Python value for a value of the file."""
    match field:
        case _ if given is None:
            return None
        case SecretsField():
            return Sealed(given)
        case models.DateTimeField():
            return datetime.fromisoformat(given) + shift
        case models.UUIDField():
            return uuid.UUID(given)
        case models.ForeignKey():
            return given
        case _:
            return field.to_python(given)
