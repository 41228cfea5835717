"""What became of each thing that another program had: nothing is passed over in silence."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Fate(StrEnum):
    TAKEN = "taken"
    CHANGED = "changed"
    REFUSED = "not taken"
    THERE = "there already"


@dataclass(frozen=True, slots=True)
class Line:
    """`kind` and `name` say what it is, as people of the other program know it; `words` why, or how."""

    fate: Fate
    kind: str
    name: str
    words: str = ""

    def row(self) -> dict[str, str]:
        return {"what": self.fate.value, "kind": self.kind, "name": self.name, "words": self.words}


@dataclass(slots=True)
class Report:
    """`notes` are about all of it. With `is_dry_run` it says what would be done."""

    source: str
    is_dry_run: bool
    lines: list[Line] = field(default_factory=list)
    notes: Sequence[str] = ()

    def add(self, lines: Iterable[Line]) -> None:
        self.lines.extend(lines)

    def counts(self) -> dict[str, int]:
        """How many lines there are of each fate."""
        found = Counter(line.fate for line in self.lines)
        return {fate.value: found[fate] for fate in Fate}
