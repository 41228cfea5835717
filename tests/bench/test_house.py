from pathlib import Path

import pytest

from bench import house


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a checkout whose ceilings are what is in it."""
    ceilings = tmp_path / "ceilings.toml"
    monkeypatch.setattr(house, "CEILINGS", ceilings)
    ceilings.write_text("".join(f"[{name}]\nlines = 3\nfiles = 2\n" for name in (*house.APPS, "tests")))
    (tmp_path / "feeds").mkdir()
    (tmp_path / "feeds/one.py").write_text("import sys\n")
    (tmp_path / "feeds/two.py").write_text("import feeds.one\n")
    return tmp_path


def test_a_package_may_not_grow_beyond_its_ceiling(root: Path) -> None:
    assert house.violations(root) == []
    (root / "feeds/two.py").write_text("\n\n\n")
    assert [said.partition(",")[0] for said in house.violations(root)] == ["feeds/ has 4 lines"]


def test_ceilings_fall_and_never_rise(root: Path) -> None:
    house.CEILINGS.write_text(house.lowered(root))
    assert "[feeds]\nlines = 2\nfiles = 2\n" in house.CEILINGS.read_text()
    (root / "feeds/three.py").write_text("\n")
    assert house.lowered(root) == house.CEILINGS.read_text()


def test_an_import_within_a_function_closes_a_circle(root: Path) -> None:
    (root / "feeds/one.py").write_text("def late(): from feeds import two\n")
    assert house.violations(root) == ["These import each other: feeds.one, feeds.two."]


def test_constants_stand_above_functions_unless_they_use_them(root: Path) -> None:
    (root / "feeds/one.py").write_text("def f(): ...\nBY = {1: f}; MOST = 3\n")
    assert house.violations(root) == ["feeds/one.py:2: put this constant on top."]
