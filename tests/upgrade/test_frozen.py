"""Released migrations stay as they are; changes are appended."""

import shutil
from pathlib import Path

import pytest

from tests.databases import ROOT
from tests.upgrade.frozen import frozen, violations

FIRST = "delivery/migrations/0001_initial.py"


def test_no_released_migration_was_changed_or_removed() -> None:
    assert FIRST in frozen()
    assert violations(ROOT) == []


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for path in frozen():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    return tmp_path


def test_a_changed_migration_is_named_with_the_way_out(copy: Path) -> None:
    (copy / FIRST).write_text((copy / FIRST).read_text() + "\n")
    (sentence,) = violations(copy)
    assert sentence.startswith(f"{FIRST} was changed.")
    assert "put the change into a new migration" in sentence


def test_a_removed_migration_is_named(copy: Path) -> None:
    (copy / FIRST).unlink()
    assert [sentence.split(".py")[1][:12] for sentence in violations(copy)] == [" is missing."]


def test_a_migration_may_be_appended_but_not_put_before_a_released_one(copy: Path) -> None:
    (copy / FIRST).with_name("0002_later.py").touch()
    assert violations(copy) == []
    (copy / FIRST).with_name("0000_earlier.py").touch()
    (sentence,) = violations(copy)
    assert sentence.startswith("delivery/migrations/0000_earlier.py is before")
