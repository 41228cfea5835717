"""The order of a timeline and the pages of it. Pure.

A place's key is when it came into the channel and, among those of one moment, its number. A cursor holds the
key, not the row: it survives that the row goes, and marks that are made between two pages.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# Clients put it into addresses as it stands.
_CURSOR = re.compile(r"(?:[0-9a-f]{8}_)?(-?\d{1,18})-(\d{1,19})", re.ASCII)
DEFAULT_LIMIT = 20
MAX_LIMIT = 100
LARGEST_KEY = 2**63 - 1


class BadCursor(ValueError):
    """A text that is no cursor of ours."""


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """Larger is newer."""

    at: datetime
    place: int

    def __str__(self) -> str:
        return f"{(self.at - EPOCH) // MICROSECOND}-{self.place}"

    @classmethod
    def read(cls, text: str) -> "Key":
        """The key in a cursor, or in the id of an event, which names a state before it. Raises BadCursor."""
        match = _CURSOR.fullmatch(text)
        if match is None or int(match[2]) > LARGEST_KEY:
            raise BadCursor(text)
        try:
            return cls(EPOCH + int(match[1]) * MICROSECOND, int(match[2]))
        except OverflowError as error:
            raise BadCursor(text) from error


@dataclass(frozen=True, slots=True)
class Stretch:
    """What is asked of a timeline: `newer_than` (exclusive) and `from_` (inclusive, downwards)."""

    newer_than: Key | None = None
    from_: Key | None = None
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True, slots=True)
class Paging:
    """The cursors of a page; "" for none. `before` leads to what is newer, `after` to the next page."""

    before: str = ""
    after: str = ""


def limit_of(text: str, most: int = MAX_LIMIT) -> int:
    """From 1 to `most`, whatever was asked for."""
    if not re.fullmatch(r"-?\d{1,9}", text, re.ASCII):
        return most if re.fullmatch(r"\d+", text, re.ASCII) else DEFAULT_LIMIT
    return min(max(int(text), 1), most)


def paging_of(asked: Stretch, keys: Sequence[Key]) -> Paging:
    """The cursors for the keys found, newest first: one more than the limit if there are more.

    `after` names the first row of the next page. `before` is left out where it would lead back to the page
    that one came from, and within a window.
    """
    if not keys:
        return Paging()
    shown, more = keys[: asked.limit], keys[asked.limit :]
    is_window = asked.newer_than is not None and asked.from_ is not None
    led_here = asked.from_ is not None and shown[0] == asked.from_
    return Paging(
        before="" if is_window or led_here else str(shown[0]),
        after=str(more[0]) if more else "",
    )
