"""Names for posts that share a guid (or a link, without guids).

The first (the holder) keeps the guid; others get guid and title, text or link. Holders are stored per feed,
so names stay when posts leave.
"""

import hashlib
import html
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Generic, TypeVar

from common.html.balance import VOID
from common.text import words
from feeds.parsing import entry
from feeds.parsing.entry import Entry, Name, ParsedFeed, ParseError
from feeds.parsing.media import absolute

# Line lengths of wrapping programs.
SHORTEST_WRAPPED, LONGEST_WRAPPED = 60, 80
# Rarer elements are often only mentioned.
_ELEMENTS = "|".join(
    words(
        "a abbr article audio b big blockquote br center cite code dd del div dl dt em embed figcaption"
        " figure font footer h1 h2 h3 h4 h5 h6 header hr i iframe img ins kbd li main mark noscript object"
        " ol p picture pre q s script section small span strike strong style sub sup svg table tbody td th"
        " tr tt u ul video"
    )
)
_MARKUP = re.compile(rf"</[a-z]|<!--|<(?:{_ELEMENTS})(?=[\s/>])", re.IGNORECASE)
_TAG_LIKE = re.compile(r"<[a-zA-Z/!?]")
_ESCAPED = re.compile(r"&(?:lt|#0*60|#x0*3c);", re.IGNORECASE)
_BEGINS_WITH_TAG = re.compile(rf"<(?:{_ELEMENTS})(?=[\s/>])", re.IGNORECASE)
_ENDS_WITH_TAG = re.compile(r"(?:</[a-zA-Z][a-zA-Z0-9]*\s*|<(?:br|hr|img)\b[^<>]*)>\Z", re.IGNORECASE)
_VOID_END = re.compile(rf"(<({'|'.join(VOID)})\b[^<>]*>)\s*</\2\s*>", re.IGNORECASE)
_EMPTY_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_LIST_ITEM = re.compile(r"\s*(?:[-–—*•+>#|]|\(?\d{1,4}[.):]|\[)")
_SENTENCE_ENDS = (".", "!", "?", ":", ";", "…")
SYNTHETIC = "feedletter-synthetic:"
MARK_DIGITS = 32
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


def read_posts(raw: Sequence[T], reader: PostReader[T], *, limit: int) -> ParsedFeed:
    """Return a feed with the newest `limit` entries. Raises ParseError if none is left."""
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
        entry.check_allowance()
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
    own = tuple(name for name, _ in unique.values())
    return ParsedFeed(guids=tuple(unique), names=own, entries=tuple(entries), warnings=tuple(warnings))


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
        entry.check_allowance()
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


def name_of(guid: str, words: str) -> Name:
    return Name(guid, digest_of(f"shared\n{guid}\n{' '.join(words.split()).casefold()}"))


def digest_of(text: str) -> str:
    return f"{SYNTHETIC}sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def mark(guid: str) -> str:
    return hashlib.sha256(guid.encode("utf-8", "surrogatepass")).hexdigest()[:MARK_DIGITS]


def shared(parsed: ParsedFeed) -> dict[str, list[Name]]:
    names_by_guid: dict[str, list[Name]] = {}
    for name in parsed.names:
        names_by_guid.setdefault(name.guid, []).append(name)
    return {guid: names for guid, names in names_by_guid.items() if len(names) > 1}


def told_apart(parsed: ParsedFeed, holders: Mapping[str, str]) -> ParsedFeed:
    """`holders`: mark of a shared guid → mark of the holder's name, or ""."""
    if not holders:
        return parsed
    renamed: dict[str, str] = {}
    for guid, name in zip(parsed.guids, parsed.names, strict=True):
        holder = holders.get(mark(name.guid))
        if holder is not None:
            renamed[guid] = name.guid if mark(name.own) == holder else name.own
    return replace(
        parsed,
        guids=tuple(renamed.get(guid, guid) for guid in parsed.guids),
        entries=tuple(
            replace(entry, guid=renamed[entry.guid]) if entry.guid in renamed else entry
            for entry in parsed.entries
        ),
    )


def paragraphs(text: str) -> str:
    """Escape text, joining wrapped lines."""
    return _paragraphs(html.escape(text, quote=False)) if text else ""


def markup(text: str, *, is_guess: bool) -> str:
    """`is_guess`: it may be plain.

    Decodes html that was escaped twice.
    """
    if "<" not in text and "\n" not in text and not text.startswith("&"):
        return text
    if not _MARKUP.search(text):
        decoded = html.unescape(text) if _ESCAPED.match(text) else ""
        if _BEGINS_WITH_TAG.match(decoded) and _ENDS_WITH_TAG.search(decoded[-1_000:]):
            return markup(decoded, is_guess=False)
        if not is_guess:
            return text
        if _TAG_LIKE.search(text):
            text = text.replace("<", "&lt;")
        return _paragraphs(text) if "\n" in text else text
    return without_void_ends(text) if "</br" in text or "</BR" in text else text


def without_void_ends(text: str) -> str:
    """<br></br> would be two breaks."""
    return _VOID_END.sub(r"\1", text)


def _paragraphs(escaped: str) -> str:
    lines = escaped.replace("\r\n", "\n").replace("\r", "\n").strip()
    blocks = (_joined([line.strip() for line in block.split("\n")]) for block in _EMPTY_LINES.split(lines))
    return "".join(f"<p>{block}</p>" for block in blocks)


def _joined(lines: list[str]) -> str:
    lengths = [len(line) for line in lines]
    is_wrapped = max(lengths) <= LONGEST_WRAPPED
    all_full = len(lines) > 2 and min(lengths[:-1]) >= SHORTEST_WRAPPED
    parts = lines[:1]
    for before, line in pairwise(lines):
        goes_on = all_full or (line[:1].islower() and not before.endswith(_SENTENCE_ENDS))
        joins = is_wrapped and len(before) >= SHORTEST_WRAPPED and goes_on and not _LIST_ITEM.match(line)
        parts += [" " if joins else "<br>", line]
    return "".join(parts)
