"""Checks before the start: settings, hooks and the database's schema.

`check` and `migrate` report hooks that must not or cannot be loaded.
A database that this release can't use is refused in one sentence.
"""

from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django import Settings

from common.checks import OWN_CHECKS
from common.cli.commands import FeedletterCommand
from feedletter_site.celery import refuse_newer_database
from feedletter_site.checks import settings_fit_together, too_new, too_old_database
from feedletter_site.hook_checks import hook_modules, hooks_of_newsletters
from feedletter_site.monitoring import stages
from tests.examples import some_now
from tests.factories import SubscribableFactory

GOOD = {
    "EMBEDDED": True,
    "EMAIL_URL": "smtp://mail.example.org",
    "SITE_HOST": "letters.example.org",
    "SITE_URL": "https://letters.example.org",
    "TRUSTED_PROXIES": [ip_network("127.0.0.1")],
    "ALLOW_PRIVATE_NETWORKS": [ip_network("192.168.0.0/24")],
    "SECRET_KEY": "x" * 50,
}


@pytest.fixture
def _good(settings: Settings) -> None:
    for name, value in GOOD.items():
        setattr(settings, name, value)


@pytest.mark.usefixtures("_good")
def test_commands_and_workers_show_them(settings: Settings) -> None:
    settings.EMAIL_URL, settings.SECRET_KEY, settings.HOOK_MODULES = "", "short", ("nonesuch",)
    said = {message.id for message in run_checks(tags=[OWN_CHECKS])}
    assert said >= {"feedletter.W004", "feedletter.W005", "delivery.W001"}
    assert FeedletterCommand.requires_system_checks == (OWN_CHECKS,)


def ids() -> list[str]:
    return [str(message.id) for message in settings_fit_together(None)]


@pytest.mark.usefixtures("_good")
def test_good_settings_pass() -> None:
    assert ids() == []


@pytest.mark.usefixtures("_good")
def test_many_workers_on_sqlite_are_warned_of(settings: Settings) -> None:
    settings.EMBEDDED = False
    engine = settings.DATABASES["default"]["ENGINE"]
    assert ids() == (["feedletter.W001"] if "sqlite" in engine else [])


@pytest.mark.usefixtures("_good")
def test_links_that_lead_to_this_machine_are_warned_of_once_letters_leave_it(settings: Settings) -> None:
    settings.SITE_HOST = "127.0.0.1"
    assert ids() == ["feedletter.W003"]
    settings.EMAIL_URL = "mailbox:"
    assert ids() == []


@pytest.mark.usefixtures("_good")
def test_a_short_secret_is_warned_of(settings: Settings) -> None:
    settings.SECRET_KEY = "short"
    assert ids() == ["feedletter.W004"]


@pytest.mark.usefixtures("_good")
def test_a_site_behind_https_without_a_declared_proxy_is_warned_of(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = []
    assert ids() == ["feedletter.W007"]
    settings.SITE_URL = "http://letters.example.org"
    assert ids() == []


@pytest.mark.parametrize("network", ["127.0.0.0/8", "127.0.0.1/32", "::1/128", "0.0.0.0/0"])
@pytest.mark.parametrize("host", ["letters.example.org", "198.51.100.7"])
@pytest.mark.usefixtures("_good")
def test_a_public_site_that_may_call_its_own_machine_is_warned_of(
    settings: Settings, network: str, host: str
) -> None:
    settings.ALLOW_PRIVATE_NETWORKS, settings.SITE_HOST = [ip_network(network)], host
    assert ids() == ["feedletter.W008"]


@pytest.mark.parametrize("host", ["192.168.1.5", "raspberry"])
@pytest.mark.usefixtures("_good")
def test_a_private_site_may_call_its_own_machine(settings: Settings, host: str) -> None:
    settings.ALLOW_PRIVATE_NETWORKS, settings.SITE_HOST = [ip_network("127.0.0.0/8")], host
    assert ids() == []


@pytest.mark.usefixtures("_good")
def test_a_provider_without_a_client_is_warned_of(settings: Settings) -> None:
    settings.OIDC_URL, settings.OIDC_CLIENT_ID = "https://id.example.org", ""
    assert ids() == ["feedletter.W009"]


@pytest.mark.usefixtures("_good")
def test_a_folder_for_backups_that_cannot_be_made_is_warned_of(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    for folder, expected in (
        ("new/folder", []),
        ("file/folder", ["W010"]),
        ("file", ["W010"]),
        ("link", ["W010"]),
    ):
        settings.BACKUP_DIR = str(tmp_path / folder)
        assert [each.removeprefix("feedletter.") for each in ids()] == expected, folder
    assert not (tmp_path / "new").exists()


def test_modules_that_are_there_are_fine(settings: Any) -> None:
    settings.HOOK_MODULES = ["tests.own_code"]
    assert hook_modules(None) == []


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("my hooks", "feedletter.E001"),
        ("my-hooks", "feedletter.E001"),
        ("nothing_of_the_kind", "feedletter.W005"),
        ("nothing_of.the_kind", "feedletter.W005"),
    ],
)
def test_a_name_that_cannot_work_is_told(settings: Any, name: str, id_: str) -> None:
    settings.HOOK_MODULES = [name]
    assert [message.id for message in hook_modules(None)] == [id_]


@pytest.mark.django_db
def test_a_newsletter_whose_code_may_not_be_loaded_is_named(settings: Any) -> None:
    SubscribableFactory(name="fine", hooks="tests.own_code.plain")
    SubscribableFactory(name="weekly", hooks="os.path")
    settings.HOOK_MODULES = ["tests.own_code"]
    (message,) = hooks_of_newsletters(None, databases=["default"])
    assert "weekly" in message.msg
    assert "HOOK_MODULES" in message.msg
    assert hooks_of_newsletters(None, databases=None) == []


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
@pytest.mark.django_db
def test_an_older_database_is_refused(statement: str, missing: str) -> None:
    assert too_old_database(connection) == ""
    with connection.cursor() as cursor:
        cursor.execute(statement)
    with pytest.raises(
        CommandError, match=f"before the first release: {missing}.* missing. It cannot be upgr"
    ):
        call_command("migrate", verbosity=0)


@pytest.mark.slow
@pytest.mark.django_db
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
@pytest.mark.django_db
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
@pytest.mark.django_db
def test_the_name_of_a_migration_says_which_releases_may_run_beside_it(
    settings: Settings, migration: str, release: str, may_run: bool
) -> None:
    settings.VERSION = release
    apply(migration)
    assert (too_new(connection) == "") is may_run


@pytest.mark.django_db
def test_migrations_of_other_packages_are_not_judged() -> None:
    apply("0099_next", app="account")
    assert too_new(connection) == ""
