import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from feeds.parsing import expense
from feeds.parsing.duplicate_guids import name_of
from feeds.parsing.entry import Entry, Name, ParseError
from feeds.parsing.media import absolute

MAX_HUBS = 5
MAX_TTL = 31 * 24 * 60
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
T = TypeVar("T")
BROKEN = "The feed is too broken to be read. Ask its publisher to check it with a validator."
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError, RecursionError)


def ttl(text: object) -> int | None:
    """Return minutes, at most 31 days."""
    written = str(text or "").strip()
    minutes = int(written) if re.fullmatch(r"[0-9]{1,9}", written) else 0
    return min(minutes, MAX_TTL) or None


def hours(texts: Iterable[object]) -> tuple[int, ...]:
    """RSS 0.91 writes midnight as 24."""
    written = [str(text).strip() for text in texts]
    numbers = {int(text) % 24 for text in written if re.fullmatch(r"[0-9]{1,2}", text) and int(text) <= 24}
    return tuple(sorted(numbers))


def days(texts: Iterable[object]) -> tuple[int, ...]:
    """Return numbers from Monday (0)."""
    names = {str(text).strip().lower() for text in texts}
    return tuple(number for number, name in enumerate(DAYS) if name in names)


def hub_addresses(urls: Iterable[object], base: str) -> tuple[str, ...]:
    addresses = dict.fromkeys(absolute(url, base) for url in urls)
    return tuple(url for url in addresses if url)[:MAX_HUBS]


class PostReader(ABC, Generic[T]):
    @abstractmethod
    def guid(self, post: T) -> str:
        pass

    @abstractmethod
    def words(self, post: T) -> str:
        """Return words that separate it from others with its guid."""

    @abstractmethod
    def date(self, post: T) -> datetime | None:
        pass

    @abstractmethod
    def entry(self, post: T, guid: str) -> Entry:
        pass

    def text(self, post: T) -> str:
        """RSS 2.0 requires only a title or description."""
        return ""


@dataclass(frozen=True, slots=True)
class Posts:
    guids: tuple[str, ...]
    names: tuple[Name, ...]
    entries: tuple[Entry, ...]
    warnings: tuple[str, ...]


def read_posts(raw: Sequence[T], reader: PostReader[T], *, limit: int) -> Posts:
    """Return the newest `limit` entries. Raises ParseError if none is left."""
    names, warnings = _identified(raw, reader.guid, reader.words)
    if raw and not names:
        names, warnings = _identified(raw, reader.text, reader.words)
    if raw and not names:
        raise ParseError(BROKEN)
    unique: dict[str, tuple[Name, T]] = {}
    for name, one in names.items():
        unique.setdefault(name.own if name.guid in unique else name.guid, (name, one))
    posts = [(guid, one) for guid, (_, one) in unique.items()]
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
    return Posts(tuple(unique), tuple(name for name, _ in unique.values()), tuple(entries), tuple(warnings))


def newest_places(posts: Sequence[tuple[str, T]], reader: PostReader[T], limit: int) -> list[int]:
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
    # Their order is unknown.
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
    """Keep the first of duplicates, and warn."""
    posts_by_name: dict[Name, T] = {}
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
        twice += name in posts_by_name
        posts_by_name.setdefault(name, one)
    warnings = []
    if twice:
        warnings.append(f"{counted_posts(twice)} with the guid of an earlier one; the first one counts.")
    if sharing := len(posts_by_name) - len({name.guid for name in posts_by_name}):
        warnings.append(f"{counted_posts(sharing)} with the guid or link of another, told apart by title.")
    if nameless:
        warnings.append(f"{counted_posts(nameless)} without guid, link, title and date passed over.")
    return posts_by_name, warnings
