"""The odd documents of tests/fixtures/feeds/odd, with their oddity and the expected result."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[2] / "fixtures" / "feeds" / "odd"
URL = "https://u.example/x/feed"
CONTENT_TYPES = {".json": "application/feed+json", ".html": "text/html"}


@dataclass(frozen=True)
class Document:
    """Odd document. `name` is "group/file"; `expected` is its part of the group's index.yaml."""

    name: str
    expected: dict[str, Any]

    @property
    def path(self) -> Path:
        return FOLDER / self.name

    @property
    def body(self) -> bytes:
        return self.path.read_bytes()

    @property
    def content_type(self) -> str:
        usual = CONTENT_TYPES.get(self.path.suffix, "application/xml")
        return str(self.expected.get("content_type", usual))


@cache
def documents() -> tuple[Document, ...]:
    """Return all documents that an index describes, in its order."""
    return tuple(
        Document(f"{index.parent.name}/{name}", expected)
        for index in sorted(FOLDER.glob("*/index.yaml"))
        for name, expected in yaml.safe_load(index.read_text()).items()
    )


def files() -> list[str]:
    """Return the names of all documents in the folder, described or not."""
    paths = (path for path in FOLDER.glob("*/*") if path.name != "index.yaml")
    return sorted(str(path.relative_to(FOLDER)) for path in paths)
