"""Indiekit’s Microsub reader: interpretation of its documents. Pure."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from common.formats.written_dates import parsed_moment
from common.text import one_line, shortened, without_controls
from migrate_from.microsub.documents import Document
from migrate_from.microsub.files import NOTIFICATIONS, Export
from migrate_from.records import OldChannel, OldEntry, OldFollow, OldMention, OldMute

_ID = re.compile(r"[0-9a-f]{24}")
_KEPT = ("maxItems", "maxItemsPerFeed", "maxUnreadAgeDays")
MOST_READERS, MOST_TYPES, MOST_COLUMNS = 1_000, 50, 200


def channels_of(export: Export) -> list[OldChannel]:
    return [_channel(document) for document in export.small["channels"]]


def _channel(document: Document) -> OldChannel:
    settings, uid = _dict(document, "settings"), _text(document, "uid")
    lost = [f"{name} {settings[name]}"[:100] for name in _KEPT if _number(settings.get(name))]
    return OldChannel(
        key=_key(document),
        uid=uid,
        name=one_line(_text(document, "name")) or uid,
        order=_number(document.get("order")),
        owner=_text(document, "userId"),
        kinds=tuple(map(one_line, _texts(settings.get("excludeTypes"), MOST_TYPES))),
        pattern=_text(settings, "excludeRegex"),
        lost=tuple(lost),
    )


def follows_of(export: Export) -> list[OldFollow]:
    return [_follow(document) for document in export.small["feeds"]]


def _follow(document: Document) -> OldFollow:
    status = one_line(_text(document, "status"))
    error = one_line(_text(document, "lastError")) if status == "error" else ""
    return OldFollow(
        key=_key(document),
        channel=_text(document, "channelId"),
        url=_text(document, "url").strip(),
        title=one_line(_text(document, "title")),
        site_url=_text(document, "siteUrl").strip(),
        trouble=shortened(error, 200) or ("without a reason" if status == "error" else ""),
    )


def entries_of(export: Export, key: tuple[str, str]) -> Iterator[OldEntry]:
    """Yield the posts of a channel and a feed, by their keys."""
    return map(_entry, export.items.read(key))


def _entry(document: Document) -> OldEntry:
    source, published = _dict(document, "source"), parsed_moment(document.get("published"))
    key = _key(document)
    made_at = datetime.fromtimestamp(int(key[:8], 16), UTC) if _ID.fullmatch(key) else None
    return OldEntry(
        jf2=document,
        guid=without_controls(_text(source, "originalId")).strip(),
        digest=_text(document, "uid"),
        feed_url=_text(source, "feedUrl"),
        published=published,
        came_at=parsed_moment(document.get("createdAt")) or published or made_at,
        read_by=frozenset(_texts(document.get("readBy"), MOST_READERS)),
        is_stripped=bool(document.get("_stripped")),
    )


def digest_of(url: str, name: str) -> str:
    """Return the digest of a post, by the feed’s address and the post’s id, link or title."""
    return sha256(f"{url}::{name}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


def mentions_of(export: Export) -> Iterator[OldMention]:
    for document in export.small.get(NOTIFICATIONS, ()):
        source, target = (_text(document, name).strip() for name in ("source", "target"))
        entry = _entry({**document, "url": document.get("url") or source})
        yield OldMention(_text(document, "userId"), source, target, one_line(_text(document, "type")), entry)


def mutes_of(export: Export) -> Iterator[OldMute]:
    for name, is_block in (("muted", False), ("blocked", True)):
        for document in export.small.get(name, ()):
            url = _text(document, "url") or _text(document, "authorUrl")
            owner, channel = _text(document, "userId"), _text(document, "channelId")
            yield OldMute(owner, is_block, channel, url.strip())


def deck_of(export: Export) -> Iterator[tuple[str, float, str]]:
    """Yield the columns’ owners, positions and channels."""
    for document in export.small.get("deck_config", ()):
        columns = document.get("columns")
        for one in columns[:MOST_COLUMNS] if isinstance(columns, list) else ():
            if isinstance(one, dict):
                yield _text(document, "userId"), _number(one.get("order")), _text(one, "channelId")


def _texts(value: Any, most: int) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in values[:most] if isinstance(text, str) and text]


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _dict(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = values.get(name)
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) < 1e9 else 0


def _key(document: Document) -> str:
    """Return its id in MongoDB."""
    return _text(document, "_id")[:64]
