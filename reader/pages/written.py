"""What a reader wrote, in lists."""

from collections.abc import Sequence
from dataclasses import dataclass

from reader.models import Composition, Reader
from reader.pages.posts import STATE_WORDS, WRITTEN_KIND_WORDS, web_address
from reader.rules.micropub import Said, fitting

LISTED = 20


@dataclass(frozen=True, slots=True)
class Line:
    """Something written, in a list."""

    row: Composition
    said: Said

    @property
    def kind(self) -> str:
        return str(WRITTEN_KIND_WORDS[self.said.kind])

    @property
    def state(self) -> str:
        return str(STATE_WORDS[Composition.State(self.row.state)])

    @property
    def words(self) -> str:
        said = fitting(self.said)
        return said.name or said.content or said.url

    @property
    def location(self) -> str:
        return web_address(self.row.location)


def lines_of(reader: Reader) -> Sequence[Line]:
    """What was written lately, the newest first."""
    rows = reader.compositions.order_by("-made_at", "-pk")[:LISTED]
    return [Line(row, Said.from_json(row.said)) for row in rows]
