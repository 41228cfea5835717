"""The odd documents of tests/fixtures/feeds/odd, each with what is odd about it and what must come out."""

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
    """`name` is "group/file"; `expected` is its part of the group's index.yaml."""

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
    """All that an index describes, in the order of the indexes."""
    return tuple(
        Document(f"{index.parent.name}/{name}", expected)
        for index in sorted(FOLDER.glob("*/index.yaml"))
        for name, expected in yaml.safe_load(index.read_text()).items()
    )


def files() -> list[str]:
    """The names of all documents that lie in the folder, described or not."""
    paths = (path for path in FOLDER.glob("*/*") if path.name != "index.yaml")
    return sorted(str(path.relative_to(FOLDER)) for path in paths)
