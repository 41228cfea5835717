import os
import subprocess
import sys
from typing import Any

import pytest
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from feedletter_site import health
from tests.services import free_port


@pytest.fixture(autouse=True)
def _forget() -> None:
    health._migrated.clear()


@pytest.mark.parametrize("method", ["get", "head"])
def test_healthz_needs_no_database(client: Client, method: str) -> None:
    # (Without the django_db mark any query fails.)
    assert getattr(client, method)("/healthz").status_code == 200


@pytest.mark.django_db
def test_readyz_is_ok_when_all_is_migrated(client: Client) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.content) == (200, b"ok\n")


@pytest.mark.django_db
def test_readyz_says_that_a_migration_is_missing(client: Client) -> None:
    MigrationRecorder.Migration.objects.filter(app="delivery").delete()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert b"manage.py migrate" in answer.content


@pytest.mark.django_db
def test_readyz_asks_the_database_every_time(client: Client, django_assert_num_queries: Any) -> None:
    client.get("/readyz")
    with django_assert_num_queries(1):
        client.get("/readyz")


def test_readyz_says_that_the_database_is_away() -> None:
    code = (
        "import django; django.setup(); from feedletter_site.health import what_is_missing as w; print(w())"
    )
    url = f"postgres://nobody@127.0.0.1:{free_port()}/nothing"
    environment = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "feedletter_site.settings"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "The database does not answer.\n"


def test_healthz_takes_no_post(client: Client) -> None:
    assert client.post("/healthz").status_code == 405
