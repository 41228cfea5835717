"""What taking over a list did, in bounded memory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from subscriptions.rules.formulas import as_text

# Lines to a transaction.
BATCH = 2000
# Refused lines that are kept in memory; all of them go to who asked for them.
KEPT = 1000


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that was not taken: its number in the file, why, and its cells if it has any."""

    line: int
    reason: str
    cells: tuple[str, ...] = ()


@dataclass
class ImportReport:
    """How many of each. `repeated`: addresses that the file had before (told by a dry run only)."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    repeated: int = 0
    refused_count: int = 0
    # The first of them.
    refused: list[Refused] = field(default_factory=list)
    # The file's headings, known before anything is refused.
    names: tuple[str, ...] = ()
    on_refused: "Callable[[ImportReport, Sequence[Refused]], None] | None" = None

    def refuse(self, lines: Sequence[Refused]) -> None:
        self.refused_count += len(lines)
        self.refused += lines[: KEPT - len(self.refused)]
        if self.on_refused and lines:
            self.on_refused(self, lines)


def refused_head(names: Sequence[str]) -> list[str]:
    """The headings of a report of refused lines, which can be mended there and imported."""
    return ["line", "reason", *map(as_text, names)]


def refused_row(line: int, reason: str, cells: Sequence[str]) -> list[str]:
    """A refused line in such a report."""
    return [str(line), reason, *map(as_text, cells)]
