"""Does at once what autovacuum does a minute or more after many rows were written."""

import logging

from django.db import DatabaseError, connection, models

log = logging.getLogger(__name__)

# Fewer rows are not worth it.
MANY = 10_000
# Nothing that blocks or waits for others: dead rows and files are left to autovacuum.
_OPTIONS = "ANALYZE, SKIP_LOCKED, INDEX_CLEANUP OFF, TRUNCATE OFF"


def vacuum_analyze(*tables: type[models.Model], rows: int) -> None:
    """Tells the planner of the rows that were just written, and marks their pages as visible to everybody.

    Until then statements are planned for the table as it was before, and the first reader of a row writes its
    page. Not within a transaction. If it fails, autovacuum does it later.
    """
    if rows < MANY or connection.vendor != "postgresql":
        return
    names = ", ".join(connection.ops.quote_name(table._meta.db_table) for table in tables)
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"VACUUM ({_OPTIONS}) {names}")
    except DatabaseError as error:
        log.info("what was just written waits for autovacuum: %s", error)
