"""Heartbeats: rows and a file, from processes that do work."""

import os
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.db import OperationalError
from pytest_django import Settings

from common import counters, passes
from common.clock import utcnow
from feedletter_site import alive
from feedletter_site.models import Counted, Stage
from feedletter_site.monitoring import vitals
from feedletter_site.monitoring.vitals import Vitals, write_counts, write_stages

SCRIPT = Path(alive.__file__)
AGES = [(0, 0), (alive.LONGEST_SILENCE + 60, 1), (None, 1)]


@pytest.fixture
def folder(settings: Settings, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path / "alive"


@pytest.fixture
def worker(folder: Path) -> Vitals:
    made = Vitals()
    made.begin("send")
    return made


def ran_at(stage: str) -> object:
    return Stage.objects.values_list("ran_at", flat=True).filter(name=stage).first()


@pytest.mark.django_db
def test_a_pass_leaves_a_row_and_a_file(worker: Vitals, folder: Path) -> None:
    worker.ran("delivery.send")
    assert ran_at("delivery.send")
    assert (folder / "send").exists()


@pytest.mark.django_db
def test_it_is_written_every_few_seconds_not_at_every_pass(
    worker: Vitals, django_assert_num_queries: object
) -> None:
    worker.ran("delivery.send")
    with django_assert_num_queries(0):  # type: ignore[operator]
        for _ in range(50):
            worker.ran("delivery.send")
            worker.ran("delivery.reap")


@pytest.mark.django_db
def test_who_ends_in_order_leaves_no_file_and_all_the_numbers(worker: Vitals, folder: Path) -> None:
    worker.ran("delivery.send")
    worker.ticked("delivery.reap")
    worker.end()
    assert not (folder / "send").exists()
    assert Stage.objects.get(name="delivery.reap").ticked_at


def test_a_database_that_is_away_leaves_no_file(
    worker: Vitals, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise OperationalError("the database is away")

    monkeypatch.setattr(vitals, "write_stages", away)
    worker.ran("delivery.send")
    assert not (folder / "send").exists()


@pytest.mark.django_db
def test_a_pass_that_hangs_is_no_sign_of_life(
    worker: Vitals, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vitals, "longest_running", lambda: vitals.HANGS_AFTER_SECONDS + 1)
    worker.ran("delivery.reap")
    assert not (folder / "send").exists()


@pytest.mark.django_db
def test_pages_of_the_same_process_are_no_sign_of_life(worker: Vitals, folder: Path) -> None:
    worker.write()
    assert not (folder / "send").exists()


@pytest.mark.django_db
def test_a_process_that_has_not_begun_to_tell_writes_nothing(folder: Path) -> None:
    Vitals().ran("delivery.send")
    assert not folder.exists()
    assert ran_at("delivery.send") is None


@pytest.mark.django_db
def test_a_worker_that_began_and_one_that_ended_are_told_of_and_counted(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(vitals, "VITALS", Vitals())
    counters.flush()
    Counted.objects.all().delete()
    with caplog.at_level("INFO"):
        vitals.begin_worker(SimpleNamespace(hostname="send@box"))
        vitals.end_worker()
    said = [record.getMessage() for record in caplog.records if record.name == vitals.__name__]
    assert ["send" in said[0], "ended in good order" in said[1]] == [True, True]
    assert set(Counted.objects.values_list("name", "label")) == {("workers", "began"), ("workers", "ended")}


@pytest.mark.django_db
def test_numbers_are_added_whichever_process_counted_them() -> None:
    write_counts({("bounces", "hard"): 2, ("issues", "email"): 1})
    write_counts({("bounces", "hard"): 3})
    found = {(row.name, row.label): row.count for row in Counted.objects.all()}
    assert found == {("bounces", "hard"): 5, ("issues", "email"): 1}


@pytest.mark.django_db
def test_a_later_run_takes_the_place_of_an_earlier_one() -> None:
    now = utcnow()
    for back in (10, 5):
        write_stages("ran_at", {"feeds.poll": now - timedelta(seconds=back)})
    assert ran_at("feeds.poll") == now - timedelta(seconds=5)


def test_what_could_not_be_written_is_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(counts: object) -> None:
        raise OperationalError("away")

    written: list[object] = []
    monkeypatch.setattr(counters, "_counts", Counter())
    monkeypatch.setattr(counters, "count_writers", [away])
    counters.count("bounces", "hard", 2)
    with pytest.raises(OperationalError):
        counters.flush()
    monkeypatch.setattr(counters, "count_writers", [written.append])
    counters.flush()
    assert written == [{("bounces", "hard"): 2}]


def test_a_pass_is_told_of_when_it_ended_well_and_not_when_it_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(passes, "pass_listeners", [told.append])

    def poll() -> None:
        assert passes.longest_running() >= 0
        if told:
            raise RuntimeError("broken")

    poll.__module__ = "feeds.tasks"
    once = passes.skip_if_running(poll)
    once()
    with pytest.raises(RuntimeError):
        once()
    assert told == ["feeds.poll"]
    assert passes.longest_running() == 0


def finished(folder: Path, age: float | None) -> None:
    """Record that a worker finished a task so many seconds ago, or never."""
    if age is not None:
        (folder / "alive").mkdir()
        (folder / "alive" / "poll").touch()
        os.utime(folder / "alive" / "poll", (time.time() - age, time.time() - age))


@pytest.mark.parametrize(("age", "code"), AGES)
def test_the_health_check_of_a_container_judges_the_files_age(
    tmp_path: Path, age: float | None, code: int
) -> None:
    finished(tmp_path, age)
    done = subprocess.run(
        [sys.executable, "-I", str(SCRIPT), "poll"],
        env={"DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code
    assert done.stderr.startswith("poll has") == bool(code)


@pytest.mark.parametrize(("age", "code"), AGES)
def test_one_of_several_that_is_silent_is_trouble_and_so_is_naming_none(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    age: float | None,
    code: int,
) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    finished(tmp_path, age)
    assert alive.main(["poll"]) == code
    assert capsys.readouterr().err.count("poll has") == code
    assert alive.main(["poll", "beat"]) == alive.main([]) == 1
    assert "beat has not finished anything yet" in capsys.readouterr().err
