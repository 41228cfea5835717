"""SQLite's file in memory."""

from django.db import connection


def unmap() -> None:
    """For a command that passes once over all rows: SQLite would map 128 MB of them into its memory."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA mmap_size = 0")
