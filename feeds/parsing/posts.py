"""The posts of a document of any format → entries: each once, the newest in full, bad ones left out."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from feeds.parsing import expense
from feeds.parsing.entry import Entry, Name, ParseError
from feeds.parsing.namesakes import name_of

T = TypeVar("T")

BROKEN = "The feed is too broken to be read. Ask its publisher to check it with a validator."
# What the reading of a malformed post may raise.
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError)


class PostReader(ABC, Generic[T]):
    """How to read a post of a format."""

    @abstractmethod
    def guid(self, post: T) -> str:
        """Its guid, or what stands for it; "" without any."""

    @abstractmethod
    def words(self, post: T) -> str:
        """What tells it from other posts with its guid."""

    @abstractmethod
    def date(self, post: T) -> datetime | None:
        """When it came out."""

    @abstractmethod
    def entry(self, post: T, guid: str) -> Entry:
        """All of it."""

    def text(self, post: T) -> str:
        """What stands for the guid where no post of a document has one.

        RSS 2.0 asks for nothing more than a title or a description.
        """
        return ""


@dataclass(frozen=True, slots=True)
class Posts:
    guids: tuple[str, ...]
    names: tuple[Name, ...]
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...]


def read_posts(raw: Sequence[T], reader: PostReader[T], *, limit: int) -> Posts:
    """All guids in order, the newest `limit` entries in full, warnings. Raises ParseError if none is left."""
    names, warnings = _identified(raw, reader.guid, reader.words)
    if raw and not names:
        names, warnings = _identified(raw, reader.text, reader.words)
    if raw and not names:
        raise ParseError(BROKEN)
    found: dict[str, tuple[Name, T]] = {}
    for name, one in names.items():
        found.setdefault(name.own if name.guid in found else name.guid, (name, one))
    posts = [(guid, one) for guid, (_, one) in found.items()]
    chosen = newest_places(posts, reader, limit)
    if len(chosen) < len(posts):
        warnings.append(f"The feed has {len(posts)} posts; the newest {len(chosen)} are read in full.")
    entries, bad = [], 0
    for guid, one in (posts[place] for place in chosen):
        expense.check_allowance()
        try:
            entries.append(reader.entry(one, guid))
        except UNREADABLE:
            bad += 1
    if bad:
        warnings.append(
            f"{counted_posts(bad)} could not be read and {'was' if bad == 1 else 'were'} passed over."
        )
    if posts and not entries:
        raise ParseError(BROKEN)
    return Posts(tuple(found), tuple(name for name, _ in found.values()), tuple(entries), tuple(warnings))


def newest_places(posts: Sequence[tuple[str, T]], reader: PostReader[T], limit: int) -> list[int]:
    """The places of the newest posts, in order: by date; of posts without a date those at either end."""
    if len(posts) <= limit:
        return list(range(len(posts)))
    dates: list[datetime | None] = []
    for _, one in posts:
        try:
            dates.append(reader.date(one))
        except UNREADABLE:
            dates.append(None)
    undated = [place for place, date in enumerate(dates) if date is None]
    dated = sorted(((date, place) for place, date in enumerate(dates) if date is not None), reverse=True)
    # Newest first or oldest first: without dates nobody knows, so both ends count.
    ends = [place for pair in zip(undated, reversed(undated), strict=True) for place in pair]
    outermost = list(dict.fromkeys(ends))
    shares = outermost[: limit // 2] if dated else outermost
    chosen = dict.fromkeys([*shares, *(place for _, place in dated)])
    return sorted(list(chosen)[:limit])


def counted_posts(count: int) -> str:
    return f"{count} post" if count == 1 else f"{count} posts"


def _identified(
    posts: Sequence[T], guid_of: Callable[[T], str], words_of: Callable[[T], str]
) -> tuple[dict[Name, T], list[str]]:
    """Each post under its name, the first one where there are several; and warnings about the others."""
    found: dict[Name, T] = {}
    twice, nameless = 0, 0
    for one in posts:
        expense.check_allowance()
        try:
            guid = guid_of(one)
            name = name_of(guid, words_of(one))
        except UNREADABLE:
            guid = ""
        if not guid:
            nameless += 1
            continue
        twice += name in found
        found.setdefault(name, one)
    warnings = []
    if twice:
        warnings.append(f"{counted_posts(twice)} with the guid of an earlier one; the first one counts.")
    if sharing := len(found) - len({name.guid for name in found}):
        warnings.append(f"{counted_posts(sharing)} with the guid or link of another, told apart by title.")
    if nameless:
        warnings.append(f"{counted_posts(nameless)} without guid, link, title and date passed over.")
    return found, warnings
