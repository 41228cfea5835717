"""The versions of a template, and what one changed."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from delivery.models import LetterTemplate
from delivery.rendering.facts import TemplateSource

MOST_LINES = 3_000
KINDS = {"+": "new", "-": "old", "@": "place"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a comparison; `kind` is new, old, place or empty."""

    kind: str
    text: str


def versions(subscribable_id: int, name: str) -> list[LetterTemplate]:
    """The newest first, without their texts."""
    rows = LetterTemplate.objects.filter(subscribable=subscribable_id, name=name).order_by("-version")
    return list(rows.defer("html", "text")[:100])


def compared(before: TemplateSource, after: TemplateSource) -> list[tuple[str, list[Line]]]:
    """What differs, by part; a part without a difference is left out."""
    parts = ((part, getattr(before, part), getattr(after, part)) for part in ("subject", "html", "text"))
    return [(part, list(_lines(old, new))) for part, old, new in parts if old != new]


def _lines(before: str, after: str) -> Iterator[Line]:
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > MOST_LINES:
        yield Line("place", f"It is too long to compare line by line: {len(old):,} and {len(new):,} lines.")
        return
    for line in list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]:
        yield Line(KINDS.get(line[:1], ""), line)
