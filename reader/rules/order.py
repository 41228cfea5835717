"""A cursor holds a key (time in the channel, primary key), so it survives deleted rows and markings."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# Clients put cursors into URLs unquoted.
_CURSOR = re.compile(r"(?:[0-9a-f]{8}_)?(-?\d{1,18})-(\d{1,19})", re.ASCII)
DEFAULT_LIMIT = 20
MAX_LIMIT = 100
LARGEST_KEY = 2**63 - 1


class BadCursor(ValueError):
    pass


@dataclass(frozen=True, slots=True, order=True)
class Key:
    at: datetime
    place: int

    def __str__(self) -> str:
        return f"{(self.at - EPOCH) // MICROSECOND}-{self.place}"

    @classmethod
    def read(cls, text: str) -> "Key":
        """Raises BadCursor."""
        match = _CURSOR.fullmatch(text)
        if match is None or int(match[2]) > LARGEST_KEY:
            raise BadCursor(text)
        try:
            return cls(EPOCH + int(match[1]) * MICROSECOND, int(match[2]))
        except OverflowError as error:
            raise BadCursor(text) from error


@dataclass(frozen=True, slots=True)
class PageRequest:
    """`newer_than` is exclusive, `from_` inclusive: pages go down from it, or up with `oldest_first`."""

    newer_than: Key | None = None
    from_: Key | None = None
    limit: int = DEFAULT_LIMIT
    oldest_first: bool = False


@dataclass(frozen=True, slots=True)
class Paging:
    """Cursors, or "": `before` for newer posts, `after` for older ones."""

    before: str = ""
    after: str = ""


def number_in(text: str) -> int | None:
    """Return a primary key written in digits, if it can be one."""
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(LARGEST_KEY))
    return int(text) if is_number and int(text) <= LARGEST_KEY else None


def limit_of(text: str, most: int = MAX_LIMIT) -> int:
    if not re.fullmatch(r"-?\d{1,9}", text, re.ASCII):
        return most if re.fullmatch(r"\d+", text, re.ASCII) else DEFAULT_LIMIT
    return min(max(int(text), 1), most)


def paging_of(asked: PageRequest, keys: Sequence[Key]) -> Paging:
    """Expects keys newest first: limit + 1 of them if there are more.

    `before` is "" in a window, and if it would lead back.
    """
    if not keys:
        return Paging()
    shown, more = keys[: asked.limit], keys[asked.limit :]
    is_window = asked.newer_than is not None and asked.from_ is not None
    led_here = asked.from_ is not None and shown[0] == asked.from_
    return Paging(before="" if is_window or led_here else str(shown[0]), after=str(more[0]) if more else "")
