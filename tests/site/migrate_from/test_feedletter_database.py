"""feedletter's database itself, restored by psql: as its dump says, and only while it is stopped."""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError

from feeds.models import Feed
from migrate_from.feedletter.dump import TABLES, read_database, read_dump
from subscriptions.models import Subscribable
from tests.databases import create_database, drop_database, url_of
from tests.site.migrate_from.feedletter_dump import NAMES, dump, run, site
from tests.site.migrate_from.test_cordfeeder import everything

__all__ = ["dump", "site"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def database(postgres_url: str, dump: Path) -> Iterator[str]:
    name = f"old_feedletter_{os.getpid()}"
    create_database(postgres_url, name, template="template0")
    url = url_of(postgres_url, name)
    # The role is not on this server.
    text = re.sub(r"^ALTER .* OWNER TO .*;\n", "", dump.read_text(), flags=re.MULTILINE)
    try:
        command = ["psql", "--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", url]
        subprocess.run(command, input=text, text=True, check=True, capture_output=True, timeout=60)
        yield url
    finally:
        drop_database(postgres_url, name)


def test_the_database_says_what_its_dump_says(database: str, dump: Path) -> None:
    tables, sessions = read_database(database)
    with dump.open(encoding="utf-8", newline="\n") as stream:
        dumped = read_dump(stream)
    assert sessions == 0
    for name, columns in TABLES.items():
        rows = [{column: row[column] for column in columns} for row in dumped[name]]
        assert sorted(tables[name], key=repr) == sorted(rows, key=repr)
    previews = [run(place, "--dry-run", "--queued", "keep") for place in (database, dump)]
    assert previews[0] == previews[1]


def test_it_is_imported_and_only_read(database: str, dump: Path) -> None:
    before = read_database(database)
    run(database)
    assert sorted(Subscribable.objects.values_list("name", flat=True)) == NAMES
    once = everything()
    assert run(dump)["counts"]["there already"] == 4
    assert everything() == once
    assert read_database(database) == before


def test_nothing_is_imported_while_another_session_is_open(database: str) -> None:
    with psycopg.connect(database):
        assert run(database, "--dry-run")["counts"]["taken"]
        with pytest.raises(CommandError, match="1 other session"):
            run(database)
        assert not Feed.objects.exists()
    run(database)
    assert Feed.objects.count() == 4
