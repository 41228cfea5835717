"""docs/architecture.md names existing files."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?)`", MAP)))
PACKAGES = (
    "common", "migrate_from", "feeds", "subscriptions", "channels", "delivery", "reader", "chat",
    "feedletter_site", "demo",
)  # fmt: skip


def is_a_room(path: str) -> bool:
    """The table of packages names folders without their app."""
    return any((ROOT / place / path).exists() for place in ("", *PACKAGES))


def test_it_names_many_files() -> None:
    assert len([path for path in PATHS if path.endswith(".py")]) >= 50


@pytest.mark.parametrize("path", PATHS)
def test_what_the_map_names_is_there(path: str) -> None:
    assert is_a_room(path)


@pytest.mark.parametrize("app", PACKAGES)
def test_every_room_is_on_the_map(app: str) -> None:
    skipped = {"migrations", "static", "templates", "models", "management", "postgresql"} | {
        "services",
        "__pycache__",
    }
    rooms = {path.name for path in (ROOT / app).iterdir() if path.is_dir()} - skipped
    (line,) = (line for line in MAP.splitlines() if line.startswith(f"| `{app}/` |"))
    assert sorted(rooms - set(re.findall(r"`(\w+)/`", line))) == []
