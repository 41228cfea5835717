"""A database of the first release, with data, becomes one of today, and that release may go on beside it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.load.installation import Installation, postgres_installation, sqlite_installation
from tests.servers.smtp_server import SmtpServer

LOAD = "from tests.upgrade.rows import load; load()"
FIRST_RELEASE = """
from django.apps import apps
from django.core.management import call_command
from tests.upgrade.originals import only_originals
from tests.upgrade.rows import APPS
with only_originals():
    for label in [*APPS, *(app.label for app in apps.get_app_configs() if app.label not in APPS)]:
        try:
            call_command("migrate", label, *["0001"] * (label in APPS), verbosity=0)
        except Exception as error:
            assert "does not have migrations" in str(error), error
"""
DATABASES = ("sqlite", pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.later]))
SECRET = "for-tests-only-" * 4


@contextmanager
def installed(
    database: str, folder: Path, request: pytest.FixtureRequest, *, migrated: bool, **environment: str
) -> Iterator[Installation]:
    settings: dict[str, Any] = {
        "SECRET_KEY": SECRET,
        "DEFAULT_FROM_EMAIL": "letters@sender.example",
        "migrated": migrated,
        **environment,
    }
    if database == "sqlite":
        with sqlite_installation(folder, **settings) as site:
            yield site
    else:
        with postgres_installation(folder, request.getfixturevalue("postgres_url"), **settings) as site:
            yield site


@pytest.mark.slow
@pytest.mark.parametrize("database", DATABASES)
def test_a_database_of_the_first_release_goes_on_after_the_upgrade(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with (
        SmtpServer() as mail,
        installed(database, tmp_path, request, migrated=False, EMAIL_URL=mail.url) as site,
    ):
        site.script(FIRST_RELEASE + LOAD)
        site.manage("migrate", "-v", "0")
        found: dict[str, Any] = json.loads(site.script("from tests.upgrade.journey import main; main()"))
    assert found["state"]["feed"] == ""
    assert found["state"]["collections"] == []
    assert found["state"]["post"] in {"assigned", "cleared"}
    assert found["done"]["failed"] == 0
    assert {f"real{number}@example.org" for number in range(3)} <= set(mail.recipients)
    # What was held and what had failed stays so; the rest went out, a dead worker's letter included.
    assert found["state"]["deliveries"] == {"failed": 1, "held": 1, "sent": len(mail.recipients), "stored": 6}
    assert {path: status for path, status in found["pages"].items() if status >= 400} == {}


@pytest.mark.slow
@pytest.mark.parametrize("database", DATABASES)
def test_what_the_first_release_inserts_still_fits(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with installed(database, tmp_path, request, migrated=True, EMAIL_URL="mailbox:") as site:
        site.script(LOAD)


def test_there_is_a_row_of_every_table_of_the_first_release() -> None:
    from tests.upgrade.rows import APPS, FILE, first_release

    tables = json.loads(FILE.read_text(encoding="utf-8"))
    made = {model._meta.label_lower for model in first_release().get_models(include_auto_created=True)}
    assert {label for label in made if label.split(".")[0] in APPS} | {"auth.user"} == tables.keys()
    assert all(table["rows"] for table in tables.values())
