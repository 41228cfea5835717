"""Some rows of every table, as the first release wrote them (rows_of_0001.json), put into a database.

They are inserted by the models of the migrations 0001, so each INSERT names the columns of that release and
no other. Times are moved to the present.
"""

import json
import uuid
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.management.color import no_style
from django.db import connection, models, transaction
from django.db.migrations.loader import MigrationLoader

from common.clock import utcnow
from common.secrets import Sealed, SecretsField
from tests.upgrade.originals import only_originals

FILE = Path(__file__).parent / "rows_of_0001.json"
WRITTEN = datetime.fromisoformat("2026-03-02T12:00:00+00:00")
APPS = ("feeds", "subscriptions", "delivery", "feedletter_site")
# Apps of ours that are younger than the first release.
LATER_APPS = ("chat", "reader")


def first_release() -> Any:
    """The models as the migrations 0001 made them."""
    with only_originals():
        loader = MigrationLoader(None)
    ours = [(app, "0001_initial") for app in APPS]
    others = [node for node in loader.graph.leaf_nodes() if node[0] not in (*APPS, *LATER_APPS)]
    return loader.project_state([*ours, *others]).apps


def load() -> None:
    """Inserts all rows, and lets the sequences go on after them."""
    tables: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    apps, shift = first_release(), utcnow() - WRITTEN
    with transaction.atomic():
        for label, table in tables.items():
            model = apps.get_model(label)
            fields = {field.attname: field for field in model._meta.concrete_fields}
            assert fields.keys() == set(table["columns"]), label
            rows = (zip(table["columns"], row, strict=True) for row in table["rows"])
            model._default_manager.bulk_create(
                model(**{name: value(fields[name], given, shift) for name, given in row}) for row in rows
            )
    reset = connection.ops.sequence_reset_sql(no_style(), [apps.get_model(label) for label in tables])
    with connection.cursor() as cursor:
        for statement in reset:
            cursor.execute(statement)


def value(field: "models.Field[Any, Any]", given: Any, shift: timedelta) -> Any:
    """What Django holds for a value of the file."""
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
