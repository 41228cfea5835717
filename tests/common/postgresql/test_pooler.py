"""PgBouncer in transaction mode: nothing may rely on the same connection after a transaction."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.load.installation import Installation, postgres_installation

# Another client gets the server's connection between two chunks of the rows.
READ_IN_PIECES = """
from django.db import connection, transaction
from feeds.models import Tag
Tag.objects.bulk_create(Tag(name=f"tag{number}") for number in range(10))
rows = Tag.objects.order_by("pk").iterator(chunk_size=2)
names = [next(rows).name]
other = connection.copy()
other.set_autocommit(False)
with other.cursor() as cursor:
    cursor.execute("SELECT 1")
    names += [row.name for row in rows]
other.close()
print(len(names))
"""
TIME_OUTS = """
from django.db import connection
with connection.schema_editor(atomic=False):
    pass
with connection.schema_editor() as editor:
    editor.execute("SELECT 1")
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        inside = cursor.fetchone()[0]
with connection.cursor() as cursor:
    cursor.execute("SHOW statement_timeout")
    print(inside, cursor.fetchone()[0])
"""
pytestmark = [pytest.mark.postgres, pytest.mark.slow]


@pytest.fixture
def site(tmp_path: Path, postgres_url: str, pooler_url: str) -> Iterator[Installation]:
    with postgres_installation(tmp_path, postgres_url, pooler=pooler_url) as made:
        name = urlsplit(made.environment["DATABASE_URL"]).path[1:]
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(f"ALTER DATABASE \"{name}\" SET statement_timeout = '299s'")
        yield made


def test_rows_are_read_in_pieces_though_the_connection_is_another_one(site: Installation) -> None:
    assert site.script(READ_IN_PIECES) == "10\n"


def test_a_migration_has_time_and_leaves_the_pools_connections_as_they_were(site: Installation) -> None:
    assert site.script(TIME_OUTS) == "0 299s\n"
