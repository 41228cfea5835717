"""A database that this release can't use is refused in one sentence."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django import Settings

from feedletter_site.celery import refuse_newer_database
from feedletter_site.checks import too_new, too_old_database
from feedletter_site.monitoring import stages
from tests.examples import some_now

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("statement", "missing"),
    some_now(
        [
            ("ALTER TABLE feeds_feed DROP COLUMN title", "the column title of feeds_feed is"),
            (
                "ALTER TABLE subscriptions_suppression DROP COLUMN reason",
                "the column reason of subscriptions",
            ),
            ("ALTER TABLE delivery_issue RENAME COLUMN placeholders TO holes", "the column placeholders of"),
            ("ALTER TABLE reader_timelineentry RENAME TO reader_place", "the table reader_timelineentry is"),
            (
                "ALTER TABLE chat_guildfeed DROP COLUMN every_minutes",
                "the column every_minutes of chat_guildfeed",
            ),
        ]
    ),
)
def test_an_older_database_is_refused(statement: str, missing: str) -> None:
    assert too_old_database(connection) == ""
    with connection.cursor() as cursor:
        cursor.execute(statement)
    with pytest.raises(
        CommandError, match=f"before the first release: {missing}.* missing. It cannot be upgr"
    ):
        call_command("migrate", verbosity=0)


@pytest.mark.slow
def test_an_older_database_with_migrations_of_its_time_is_not_called_newer() -> None:
    apply("0007_of_its_time")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE feeds_feed DROP COLUMN title")
    assert too_new(connection) == too_old_database(connection) != ""
    with pytest.raises(CommandError, match="before the first release"):
        call_command("migrate", verbosity=0)


def apply(migration: str, app: str = "delivery") -> None:
    MigrationRecorder(connection).record_applied(app, migration)


@pytest.mark.slow
def test_a_database_of_a_newer_release_is_refused(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "close", lambda: None)
    settings.VERSION = "0.1.0"
    refuse_newer_database()
    apply("0002_next")
    sentence = r"newer release than 0\.1\.0 has upgraded .*delivery\.0002_next.* restore the backup"
    with pytest.raises(CommandError, match=sentence):
        call_command("migrate", verbosity=0)
    with pytest.raises(SystemExit, match=sentence):
        refuse_newer_database()
    stages._migrated.clear()
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert b"A newer release" in answer.content


@pytest.mark.parametrize(
    ("migration", "release", "may_run"),
    [
        ("0002_next_beside_0_1_0", "0.1.0", True),
        ("0002_next_beside_0_1_0", "0.1.0.dev0", True),
        ("0002_next_beside_0_1_0", "0.10.3", True),
        ("0003_drop_beside_0_2_0", "0.1.9", False),
        ("0003_drop_beside_0_10_0", "0.9.0", False),
        ("0002_beside_0_1_0_or_not", "0.1.0", False),
    ],
)
def test_the_name_of_a_migration_says_which_releases_may_run_beside_it(
    settings: Settings, migration: str, release: str, may_run: bool
) -> None:
    settings.VERSION = release
    apply(migration)
    assert (too_new(connection) == "") is may_run


def test_migrations_of_other_packages_are_not_judged() -> None:
    apply("0099_next", app="account")
    assert too_new(connection) == ""
