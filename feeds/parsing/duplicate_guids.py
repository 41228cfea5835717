"""Separates posts that share a guid (or a link, without guids) by names that never change.

The first post with a guid (the holder) keeps it. Others get guid and title, else text, else link. The holder
is remembered per feed, so names stay when posts come or leave.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from feeds.parsing.entry import Name, ParsedFeed

SYNTHETIC = "feedletter-synthetic:"
MARK_DIGITS = 32


def name_of(guid: str, words: str) -> Name:
    """`words` distinguish the post from others with its guid."""
    return Name(guid, digest_of(f"shared\n{guid}\n{' '.join(words.split()).casefold()}"))


def digest_of(text: str) -> str:
    return f"{SYNTHETIC}sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def mark(guid: str) -> str:
    """Return the short form of a guid or name that is stored."""
    return hashlib.sha256(guid.encode("utf-8", "surrogatepass")).hexdigest()[:MARK_DIGITS]


def shared(parsed: ParsedFeed) -> dict[str, list[Name]]:
    """Return shared guids with the names of their posts."""
    found: dict[str, list[Name]] = {}
    for name in parsed.names:
        found.setdefault(name.guid, []).append(name)
    return {guid: names for guid, names in found.items() if len(names) > 1}


def told_apart(parsed: ParsedFeed, holders: Mapping[str, str]) -> ParsedFeed:
    """Return the document with unique guids.

    `holders`: mark of a shared guid → mark of the holder's name, or "". Without it the first post is the
    holder.
    """
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
