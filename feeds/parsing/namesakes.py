"""Tells posts apart that share a guid, or a link where there is no guid; their names never change.

A guid that only one post has names that post. Where several posts with different titles have it, the post
that had it first (the holder) keeps it. Each other one is named by guid and title: by its text where it has
no title, by its link where it has no text. The holder is remembered for each feed, so no name changes when
another post with that guid comes, when one leaves, or when the holder itself leaves.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import replace

from feeds.parsing.entry import Name, ParsedFeed

SYNTHETIC = "feedletter-synthetic:"
MARK_DIGITS = 32


def name_of(guid: str, words: str) -> Name:
    """`words` tell the post from its namesakes."""
    return Name(guid, digest_of(f"shared\n{guid}\n{' '.join(words.split()).casefold()}"))


def digest_of(text: str) -> str:
    return f"{SYNTHETIC}sha256:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def mark(guid: str) -> str:
    """A short form of a guid or name, as it is remembered."""
    return hashlib.sha256(guid.encode("utf-8", "surrogatepass")).hexdigest()[:MARK_DIGITS]


def shared(parsed: ParsedFeed) -> dict[str, list[Name]]:
    """The guids that several posts of a document have, each with the posts' names in order."""
    found: dict[str, list[Name]] = {}
    for name in parsed.names:
        found.setdefault(name.guid, []).append(name)
    return {guid: names for guid, names in found.items() if len(names) > 1}


def told_apart(parsed: ParsedFeed, holders: Mapping[str, str]) -> ParsedFeed:
    """The document with its posts' guids as they are in a feed with these `holders`.

    `holders`: mark of a shared guid → mark of the holder's own name, "" where it is not known. In a document
    alone the first post with a guid counts as its holder.
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
