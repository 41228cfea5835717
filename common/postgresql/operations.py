from typing import Any

from django.db.migrations.operations import AddIndex


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
