"""Nightly copies of the database in BACKUP_DIR."""

import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from feedletter_site.services import backups
from feedletter_site.services.backups import BackupError, back_up_tonight, is_due, name_of, old_backups
from tests.factories import FeedFactory

NIGHT = datetime(2026, 11, 28, 3, 5, tzinfo=UTC)


def test_a_copy_is_due_from_three_once_a_day() -> None:
    names = ["feedletter-2026-11-27"]
    assert not is_due(names, NIGHT - timedelta(minutes=6))
    assert is_due(names, NIGHT)
    assert is_due(names, NIGHT + timedelta(hours=20))
    assert not is_due([*names, "feedletter-2026-11-28"], NIGHT)


def test_copies_older_than_the_days_kept_go_and_other_files_stay() -> None:
    days = [date(2026, 10, 28), date(2026, 10, 29), NIGHT.date()]
    rest = f"{name_of(days[0])}.1a2b.part"
    names = [*map(name_of, days), rest, "feedletter-by-hand", "notes"]
    assert old_backups(names, NIGHT.date(), 30) == [name_of(days[0]), rest]


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.BACKUP_DIR = str(tmp_path / "copies")
    return tmp_path / "copies"


@pytest.mark.usefixtures("commits")
@pytest.mark.django_db(transaction=True)
def test_each_night_has_a_copy_that_can_be_read(folder: Path) -> None:
    FeedFactory(title="Harbour")
    for day in range(3):
        for minutes in (0, 10):
            back_up_tonight(now=NIGHT + timedelta(days=day, minutes=minutes))
    copies = sorted(each.name for each in folder.iterdir())
    assert copies == ["feedletter-2026-11-28", "feedletter-2026-11-29", "feedletter-2026-11-30"]
    assert folder.stat().st_mode & 0o777 == 0o700
    with closing(sqlite3.connect(folder / copies[0])) as copy:
        assert copy.execute("SELECT title FROM feeds_feed").fetchall() == [("Harbour",)]


@pytest.mark.usefixtures("commits")
@pytest.mark.django_db(transaction=True)
def test_a_backup_that_fails_keeps_the_old_ones_and_is_on_the_overview(
    folder: Path, monkeypatch: pytest.MonkeyPatch, admin_client: Client
) -> None:
    def failing(path: Path) -> int:
        raise BackupError("The disk is full.")

    FeedFactory()
    folder.mkdir()
    for day in range(1, 9):
        (folder / f"feedletter-2020-01-0{day}").touch()
    before = {each.name for each in folder.iterdir()}
    with monkeypatch.context() as broken:
        broken.setattr(backups, "back_up", failing)
        back_up_tonight(now=NIGHT)
    assert {each.name for each in folder.iterdir()} == before
    overview = reverse("admin:index")
    assert "The disk is full." in admin_client.get(overview).content.decode()
    back_up_tonight(now=NIGHT)
    # A clock that jumps ahead doesn't delete them all.
    days = ["2020-01-01", "2020-01-02"]
    gone = {name_of(date.fromisoformat(day)) for day in days}
    assert {each.name for each in folder.iterdir()} == before - gone | {"feedletter-2026-11-28"}
    assert "The disk is full." not in admin_client.get(overview).content.decode()


@pytest.mark.django_db
def test_without_a_folder_there_are_no_copies(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BACKUP_DIR = ""
    monkeypatch.chdir(tmp_path)
    back_up_tonight(now=NIGHT)
    assert not list(tmp_path.iterdir())
