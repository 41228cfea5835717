"""Migrations that make an app's tables for a new database."""

from typing import Any

from django.db.migrations import Migration


class SquashedMigration(Migration):
    """One rendering of the models serves all of its tables: it creates models, and adds fields to those.

    Django renders anew what a model refers to, and what refers to that, with each of them: that took half of
    the time of a first start.
    """

    def apply(self, project_state: Any, schema_editor: Any, collect_sql: bool = False) -> Any:
        vars(project_state).pop("apps", None)
        made = self.mutate_state(project_state, preserve=False)
        for operation in self.operations:
            operation.database_forwards(self.app_label, schema_editor, made, made)
        return made
