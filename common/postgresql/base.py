"""Django's PostgreSQL backend with faster detection of lost connections and wrong clocks."""

import select
from datetime import UTC, datetime
from typing import Any

from django.db.backends.postgresql import base
from django.db.backends.postgresql.psycopg_any import BaseTzLoader, IsolationLevel
from django.db.backends.postgresql.schema import DatabaseSchemaEditor
from django.db.migrations.operations import AddIndex
from psycopg import OperationalError

from common import clock
from common.postgresql.patience import PATIENCE, Away, PatientConnection
from common.shutdown import stopping

NOW = 0
UNBOUNDED = ("statement_timeout", "idle_in_transaction_session_timeout")


class UtcLoader(BaseTzLoader):  # type: ignore[misc] # the stubs have none
    """A fifth of the time of Django's loader, which needs ISO 8601, too. All sessions are in UTC."""

    # Django looks at it for each cursor.
    timezone = UTC

    def load(self, data: Any) -> datetime:
        return datetime.fromisoformat(bytes(data).decode())


class SchemaEditor(DatabaseSchemaEditor):
    """No time limits for migrations."""

    def __enter__(self) -> Any:
        editor = super().__enter__()
        if self.atomic_migration:
            self._run("SET LOCAL {} = 0")
        elif not has_pooler(self.connection):
            self._run("SET {} = 0")
        return editor

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if not self.atomic_migration and not has_pooler(self.connection):
            self._run("RESET {}")

    def _run(self, statement: str) -> None:
        with self.connection.cursor() as cursor:
            for name in UNBOUNDED:
                cursor.execute(statement.format(name))


def has_pooler(connection: Any) -> bool:
    """Return whether transactions may change server processes, so that SET is lost."""
    return bool(connection.settings_dict["DISABLE_SERVER_SIDE_CURSORS"])


class DatabaseWrapper(base.DatabaseWrapper):
    """CONN_HEALTH_CHECKS without a query per request."""

    SchemaEditorClass = SchemaEditor

    def connect(self) -> None:
        super().connect()
        # One query per connection, which lives for a minute.
        before = clock.uptime()
        row = self.connection.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchone()
        clock.set_by(row[0], at=(before + clock.uptime()) / 2)

    def get_new_connection(self, conn_params: dict[str, Any]) -> PatientConnection:
        self.isolation_level = IsolationLevel.READ_COMMITTED
        if stopping.is_set():
            conn_params = {**conn_params, "connect_timeout": PATIENCE}
        try:
            connection = PatientConnection.connect(**conn_params)
        except OperationalError:
            Away.database_unreachable = True
            raise
        Away.database_unreachable = False
        connection.adapters.register_loader("timestamptz", UtcLoader)
        connection.place = {
            name: value for name, value in conn_params.items() if isinstance(value, (str, int))
        }
        return connection

    def is_usable(self) -> bool:
        """Query only if there is something to read: a stopped server closed the connection.

        A server that is cut off would not answer a query either.
        """
        raw: Any = self.connection
        if raw is not None and not raw.closed:
            poll = select.poll()
            poll.register(raw.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
            if not poll.poll(NOW):
                return True
        return bool(super().is_usable())


class AddIndexBeside(AddIndex):
    """AddIndex with CONCURRENTLY on PostgreSQL; its migration needs `atomic = False`.

    Drops the remains of an interrupted build first.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor != "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        schema_editor.execute(
            f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(self.index.name)}"
        )
        schema_editor.add_index(model, self.index, concurrently=True)
