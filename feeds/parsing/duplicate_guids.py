"""Names for posts that share a guid (or a link, without guids).

The first (the holder) keeps the guid; others get guid and title, text or link. Holders are stored per feed,
so names stay when posts leave.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from feeds.parsing.entry import Name, ParsedFeed

SYNTHETIC = "feedletter-synthetic:"
MARK_DIGITS = 32


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
