import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from feedletter_site.management.commands.up import data_locked
from feedletter_site.monitoring import stages
from tests.services import free_port


@pytest.fixture(autouse=True)
def _forget() -> None:
    stages._migrated.clear()


@pytest.mark.parametrize("method", ["get", "head"])
def test_healthz_needs_no_database(client: Client, method: str) -> None:
    # Without the django_db mark any query fails.
    assert getattr(client, method)("/healthz").status_code == 200


@pytest.mark.slow
@pytest.mark.django_db
def test_readyz_is_ok_when_all_is_migrated(client: Client) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.content) == (200, b"ok\n")


@pytest.mark.slow
@pytest.mark.django_db
def test_readyz_is_ok_behind_an_undeclared_proxy_but_says_so(client: Client) -> None:
    answer = client.get("/readyz", headers={"X-Forwarded-For": "203.0.113.9"})
    assert (answer.status_code, answer.content) == (200, f"ok\n{stages.UNDECLARED}".encode())
    assert b"127.0.0.1" not in answer.content


@pytest.mark.django_db
def test_readyz_says_that_a_migration_is_missing(client: Client) -> None:
    MigrationRecorder.Migration.objects.filter(app="delivery").delete()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert b"manage.py migrate" in answer.content


@pytest.mark.slow
@pytest.mark.django_db
def test_readyz_asks_the_database_every_time(client: Client, django_assert_num_queries: Any) -> None:
    client.get("/readyz")
    with django_assert_num_queries(1):
        client.get("/readyz")


@pytest.mark.slow
def test_readyz_says_that_the_database_is_away() -> None:
    code = (
        "import django; django.setup(); from feedletter_site.monitoring.stages import what_is_missing as w;"
        "print(w())"
    )
    url = f"postgres://nobody@127.0.0.1:{free_port()}/nothing"
    environment = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "feedletter_site.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "The database doesn’t answer.\n"


def test_healthz_takes_no_post(client: Client) -> None:
    assert client.post("/healthz").status_code == 405


@pytest.mark.slow
@pytest.mark.django_db
def test_readyz_says_that_the_tables_are_older_than_what_is_noted_as_applied(client: Client) -> None:
    with without_column("feeds_feed", "warning"):
        answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "the column warning of feeds_feed is missing" in answer.content.decode()
    assert "docs/operating/upgrade.md" in answer.content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize("command", [("migrate",), ("up", "--bind", f"127.0.0.1:{free_port()}")])
def test_a_database_from_before_the_first_release_is_refused_with_the_way_out(
    command: tuple[str, ...],
) -> None:
    with (
        without_column("feeds_feed", "warning"),
        pytest.raises(
            CommandError, match=r"the column warning .* is missing\. It cannot be upgraded.*export_"
        ),
    ):
        call_command(*command)
    # It keeps no lock.
    with data_locked():
        pass


@contextmanager
def without_column(table: str, column: str) -> Iterator[None]:
    """Rename the column, as before the migration that added it."""
    with connection.cursor() as cursor:
        cursor.execute(f'ALTER TABLE {table} RENAME COLUMN "{column}" TO later')
        try:
            yield
        finally:
            cursor.execute(f'ALTER TABLE {table} RENAME COLUMN later TO "{column}"')


@pytest.mark.slow
@pytest.mark.django_db
def test_readyz_says_that_the_disk_is_full(
    client: Client, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    assert client.get("/readyz").status_code == 200
    free = shutil.disk_usage(tmp_path).free
    monkeypatch.setattr(stages, "LEAST_FREE", free * 2)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.content) == (503, b"The disk that DATA_DIR is on is full.\n")
    assert client.get("/healthz").status_code == 200
