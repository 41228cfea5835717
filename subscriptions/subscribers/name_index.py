"""Index of parts of names, on PostgreSQL."""

import logging
from typing import Any

from django.db import DatabaseError, connections, transaction

from subscriptions.models import Subscription

log = logging.getLogger(__name__)

TABLE = Subscription._meta.db_table
# As Django compares with `icontains`.
INDEX = (
    f"CREATE INDEX IF NOT EXISTS subscription_name ON {TABLE} "
    "USING gin (UPPER(display_name::text) gin_trgm_ops)"
)


def ensure_index(using: str, **_: Any) -> None:
    """Receives post_migrate. Some providers refuse the extension; then a search reads all rows."""
    database = connections[using]
    if database.vendor != "postgresql":
        return
    try:
        with transaction.atomic(using), database.cursor() as cursor:
            if TABLE in database.introspection.table_names(cursor):
                cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
                cursor.execute(INDEX)
    except DatabaseError as error:
        log.info("searches of subscribers' names have no index: %s", error)
