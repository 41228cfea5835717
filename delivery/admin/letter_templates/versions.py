"""The versions of a template, and what one changed."""

import difflib
from dataclasses import dataclass

from delivery.models import LetterTemplate
from delivery.rendering.facts import TemplateSource

MOST_LINES_COMPARED = 3_000


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """A line of a comparison; `kind` is new, old, place or empty."""

    kind: str
    text: str


def versions(subscribable_id: int, name: str) -> list[LetterTemplate]:
    """The newest first, without their texts."""
    rows = LetterTemplate.objects.filter(subscribable=subscribable_id, name=name).order_by("-version")
    return list(rows.defer("html", "text")[:100])


def compared(before: TemplateSource, after: TemplateSource) -> list[tuple[str, list[ComparedLine]]]:
    """What differs, by part; a part without a difference is left out."""
    kinds = {"+": "new", "-": "old", "@": "place"}
    found = []
    for part in ("subject", "html", "text"):
        if getattr(before, part) == getattr(after, part):
            continue
        old, new = getattr(before, part).splitlines(), getattr(after, part).splitlines()
        if max(len(old), len(new)) > MOST_LINES_COMPARED:
            said = f"It is too long to compare line by line: {len(old):,} and {len(new):,} lines."
            lines = [ComparedLine("place", said)]
        else:
            differing = list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]
            lines = [ComparedLine(kinds.get(line[:1], ""), line) for line in differing]
        found.append((part, lines))
    return found
