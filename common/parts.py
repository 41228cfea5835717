"""Parts of a page as data, which `common/admin/html.py` turns into HTML.

A panel is a part, a sentence, or a tuple of these; "" stands for nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias


class Shown:
    """Base of the parts."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Link(Shown):
    """`to` is a URL, or an object with a page; `text` is the object's name if empty."""

    to: Any
    text: object = ""

    @property
    def label(self) -> object:
        return self.to if self.text == "" else self.text

    @property
    def is_outside(self) -> bool:
        return isinstance(self.to, str) and self.to.startswith("http")


@dataclass(frozen=True, slots=True)
class Button(Link):
    is_plain: bool = False


@dataclass(frozen=True, slots=True)
class Text(Shown):
    """Paragraph, or words within one. `kind` is "alert", "quiet", "note" or another look."""

    words: "Part"
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Lines(Shown):
    """Lines within a cell or a paragraph."""

    lines: Iterable["Part"]


@dataclass(frozen=True, slots=True)
class Strong(Shown):
    words: str


@dataclass(frozen=True, slots=True)
class Dot(Shown):
    """Spot of colour in front of words: "good", "wait", "bad" or "still"."""

    tone: str


@dataclass(frozen=True, slots=True)
class Code(Shown):
    text: str
    # Alone, with a button that copies it.
    is_copied: bool = False


@dataclass(init=False, slots=True)
class Facts(Shown):
    """Names and values; those without a value are left out."""

    pairs: tuple[tuple[object, object], ...]

    def __init__(self, *pairs: tuple[object, object]) -> None:
        self.pairs = tuple(pair for pair in pairs if pair[1] not in (None, "", ()))


@dataclass(frozen=True, slots=True)
class Table(Shown):
    """`rows` are read once; `empty` is shown instead of none.

    `is_figures`: all columns but the first are numbers.
    """

    head: Iterable[str]
    rows: Iterable[Iterable[object]]
    empty: str = "Nothing yet."
    is_figures: bool = False

    def lines(self) -> list[list[tuple[str, object]]]:
        """Return the cells of each row with their column's name."""
        names = list(self.head)
        return [list(zip(names, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class Meter(Shown):
    """Use of a limit, "12 of 50 in the last hour"."""

    value: int
    limit: int
    words: str


@dataclass(frozen=True, slots=True)
class Fold(Shown):
    """Part that is shown after a click on the summary."""

    summary: str
    part: "Part"
    kind: str = "older"


@dataclass(frozen=True, slots=True)
class Box(Shown):
    """Parts with a common look."""

    kind: str
    parts: "Part"


@dataclass(frozen=True, slots=True)
class Live(Shown):
    """Part that the page's script replaces by its name."""

    name: str
    part: "Part"


@dataclass(frozen=True, slots=True)
class Bar:
    """`words` is the tooltip. A bad bar has the full height."""

    value: float
    words: str = ""
    is_bad: bool = False

    @property
    def size(self) -> float:
        return self.is_bad or self.value


@dataclass(frozen=True, slots=True)
class Flow:
    """Gains, certain (`came`) or not yet, and losses, intended (`went`) or not (`lost`)."""

    came: int
    not_yet: int
    went: int
    lost: int
    words: str = ""

    @property
    def size(self) -> int:
        return self.came + self.not_yet + self.went + self.lost


@dataclass(frozen=True, slots=True)
class Chart(Shown):
    """Bars, flows, or a line on a scale. Only the words are shown if there is little to draw.

    `first` and `last` name the ends of the axis; `below` belongs to the figure.
    """

    title: str
    words: str
    columns: Sequence[Bar | Flow]
    first: str = ""
    last: str = ""
    is_line: bool = False
    below: "Part" = ""


@dataclass(frozen=True, slots=True)
class Template(Shown):
    name: str
    context: Mapping[str, Any] = field(default_factory=dict)
    request: Any = None


Part: TypeAlias = str | Shown | tuple["Part", ...]


def listed(values: Iterable[Part], between: str = ", ") -> tuple[Part, ...]:
    return tuple(part for value in values for part in (between, value))[1:]
