"""What PostgreSQL does of its own accord a minute or more after much was written, done at once."""

import logging

from django.db import DatabaseError, connection, models

log = logging.getLogger(__name__)

# So many rows are worth it.
MANY = 10_000
# Nothing that stops or waits for anybody: dead rows and files are left to autovacuum.
_OPTIONS = "ANALYZE, SKIP_LOCKED, INDEX_CLEANUP OFF, TRUNCATE OFF"


def tend(*tables: type[models.Model], rows: int) -> None:
    """Has the planner know of the rows that were just written, and their pages marked as good for everybody.

    Until then statements are planned for the table as it was before, and who reads a row first writes its
    page. Not within a transaction. What fails is left to autovacuum.
    """
    if rows < MANY or connection.vendor != "postgresql":
        return
    names = ", ".join(connection.ops.quote_name(table._meta.db_table) for table in tables)
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"VACUUM ({_OPTIONS}) {names}")
    except DatabaseError as error:
        log.info("what was just written waits for autovacuum: %s", error)
