"""`migrate` on PostgreSQL: beside another one, and by a role that may not create tables."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests import forks
from tests.databases import ROOT
from tests.examples import NIGHTLY
from tests.load.installation import Installation, postgres_installation

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
ROLE = "feedletter_test_no_create"


@pytest.fixture
def empty(tmp_path: Path, postgres_url: str) -> Iterator[Installation]:
    with postgres_installation(tmp_path, postgres_url, migrated=False) as site:
        yield site


def migrate_twice_at_once(site: Installation) -> None:
    command = [sys.executable, "manage.py", "migrate", "-v", "0"]
    both = [
        forks.Process(command, cwd=ROOT, env=site.environment, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert "Traceback" not in "".join(said)
    site.manage("list_feeds")


@NIGHTLY
def test_two_at_once_on_an_empty_database_take_turns(empty: Installation) -> None:
    migrate_twice_at_once(empty)


@NIGHTLY
def test_two_at_once_take_turns_behind_a_pooler(empty: Installation, pooler_url: str) -> None:
    name = empty.environment["DATABASE_URL"].rpartition("/")[2]
    empty.environment["DATABASE_URL"] = f"{pooler_url.rpartition('/')[0]}/{name}?prepare=off"
    migrate_twice_at_once(empty)


def test_a_role_that_may_not_create_tables_is_told_so_in_a_sentence(
    empty: Installation, postgres_url: str
) -> None:
    url = empty.environment["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        admin.execute(f"DROP ROLE IF EXISTS {ROLE}")
        admin.execute(f"CREATE ROLE {ROLE} LOGIN")
    try:
        empty.environment["DATABASE_URL"] = url.replace("postgres@", f"{ROLE}@")
        done = empty.python("manage.py", "migrate", "-v", "0")
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(f"DROP ROLE {ROLE}")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    line = done.stderr.splitlines()[-1]
    assert "permission denied for schema public" in line
    assert "docs/operating/scale.md#the-database" in line
