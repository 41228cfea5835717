"""Exports: a folder or a zip of mongoexport's or mongodump's files, or an archive of mongodump.

Indiekit’s Microsub reader: interpretation of its documents. Pure.
"""

import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from common.archives import BadArchive, Budget, is_zip, memory_of, open_member, open_zip, pieces_of
from common.body_limits import MEGABYTE
from common.formats.written_dates import parsed_moment
from common.refused import Refused
from common.text import one_line, shortened, without_controls
from migrate_from.microsub.documents import (
    ARCHIVE,
    BadDocuments,
    Document,
    archive_documents,
    bson_documents,
    json_documents,
)
from migrate_from.records import OldChannel, OldEntry, OldFollow, OldMention, OldMute, text_at

MOST_OCTETS = 2_000 * MEGABYTE
# Documents of a collection. Only items are kept on disk.
MOST_ITEMS, MOST_OTHERS = 1_000_000, 20_000
# Octets of memory, for all that is kept there.
MOST_IN_MEMORY = 100 * MEGABYTE
TOO_LARGE = "Its channels, feeds and notifications take more than {} MB of memory. Export fewer of them."
MOST_NAMES, DEEPEST = 10_000, 3
ITEMS, NOTIFICATIONS = "items", "notifications"
GZIP = b"\x1f\x8b"
NEEDED_COLLECTIONS = ("channels", "feeds")
COLLECTIONS = (*NEEDED_COLLECTIONS, ITEMS, NOTIFICATIONS, "muted", "blocked", "deck_config")
_NAME = re.compile(rf"(?:.*[._-])?microsub_({'|'.join(COLLECTIONS)})\.(json|jsonl|ndjson|bson)(\.gz)?")
HOW = (
    "Export each collection with: mongoexport --db=DATABASE --collection=microsub_channels"
    " --out=FOLDER/microsub_channels.json, likewise microsub_feeds, microsub_items, microsub_notifications,"
    " microsub_muted, microsub_blocked and microsub_deck_config. Or all at once with: mongodump"
    " --db=DATABASE --archive=FILE"
)
Opened = tuple[str, Callable[[], IO[bytes]]]
_ID = re.compile(r"[0-9a-f]{24}")
_KEPT = ("maxItems", "maxItemsPerFeed", "maxUnreadAgeDays")
MOST_READERS, MOST_TYPES, MOST_COLUMNS = 1_000, 50, 200


class Spool:
    """Documents in a temporary file, found by keys."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the plan
        self._places: dict[tuple[str, str], list[int]] = defaultdict(list)
        self.total = 0

    def add(self, key: tuple[str, str], document: Document) -> None:
        self.total += 1
        self._places[key].append(self._file.tell())
        self._file.write(json.dumps(document).encode() + b"\n")

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._places)

    def count(self, key: tuple[str, str]) -> int:
        return len(self._places.get(key, ()))

    def read(self, key: tuple[str, str]) -> Iterator[Document]:
        for place in self._places.get(key, ()):
            self._file.seek(place)
            yield json.loads(self._file.readline())


@dataclass
class Export:
    """`items` are spooled by channel and feed."""

    small: dict[str, list[Document]] = field(default_factory=dict)
    items: Spool = field(default_factory=Spool)
    lacking: list[str] = field(default_factory=list)
    memory: Budget = field(default_factory=lambda: Budget(MOST_IN_MEMORY, TOO_LARGE))

    def add(self, name: str, document: Document) -> None:
        """Raises BadDocuments and BadArchive."""
        most = MOST_ITEMS if name == ITEMS else MOST_OTHERS
        if (self.items.total if name == ITEMS else len(self.small[name])) >= most:
            raise BadDocuments(f"It has more than {most:,} documents.")
        if name == ITEMS:
            channel, feed = (str(document.get(key) or "") for key in ("channelId", "feedId"))
            if not self.items.count((channel, feed)):
                # With the list of its places.
                self.memory.spend(memory_of([channel, feed, [0]]))
            self.items.add((channel, feed), document)
        else:
            self.memory.spend(memory_of(document))
            self.small[name].append(document)


def read_export(place: Path) -> Export:
    """Raises Refused."""
    budget, export = Budget(MOST_OCTETS), Export()
    try:
        with ExitStack() as stack:
            head = b"" if place.is_dir() else _head(place)
            if head.startswith((ARCHIVE, GZIP)):
                _read_archive(export, place, budget, is_gzip=head.startswith(GZIP))
            else:
                _read_files(export, place, _files(place, stack), budget)
    except OSError as error:
        raise Refused(f"{place} cannot be read: {error.strerror}.") from error
    export.lacking = [name for name in COLLECTIONS if name not in export.small]
    return export


def _head(place: Path) -> bytes:
    with place.open("rb") as stream:
        return stream.read(4)


def _read_archive(export: Export, place: Path, budget: Budget, *, is_gzip: bool) -> None:
    names = {f"microsub_{name}": name for name in COLLECTIONS}
    try:
        with place.open("rb") as stream:
            pieces = pieces_of(stream, budget, is_gzip=is_gzip)
            for collection, document in archive_documents(pieces, tuple(names)):
                if document is not None:
                    export.add(names[collection], document)
                elif names[collection] in export.small:
                    raise Refused(f"{place} has {collection} of two databases. Use mongodump --db=DATABASE.")
                else:
                    export.small[names[collection]] = []
    except (BadArchive, BadDocuments) as error:
        raise Refused(f"{place}: {error}") from error
    _refuse_missing(place, export.small)


def _read_files(export: Export, place: Path, found: "Mapping[str, Opened]", budget: Budget) -> None:
    _refuse_missing(place, found)
    for name, (file_name, opened) in found.items():
        export.small[name] = []
        read = bson_documents if ".bson" in file_name else json_documents
        try:
            with opened() as stream:
                for document in read(pieces_of(stream, budget, is_gzip=file_name.endswith(".gz"))):
                    export.add(name, document)
        except (BadArchive, BadDocuments) as error:
            raise Refused(f"{file_name}: {error}") from error


def _refuse_missing(place: Path, found: Collection[str]) -> None:
    if missing := [name for name in NEEDED_COLLECTIONS if name not in found]:
        names = " and ".join(f"microsub_{name}" for name in missing)
        raise Refused(f"{place} has no {names}. {HOW}")


def _files(place: Path, stack: ExitStack) -> dict[str, Opened]:
    """Return the name and an opener of each collection's file. Raises Refused and OSError."""
    found: dict[str, Opened] = {}
    for path, opened in _in_folder(place) if place.is_dir() else _in_zip(place, stack):
        if match := _NAME.fullmatch(path.rpartition("/")[2]):
            if match[1] in found:
                raise Refused(f"{place} has microsub_{match[1]} twice: {found[match[1]][0]} and {path}.")
            found[match[1]] = (path, opened)
    return found


def _in_folder(folder: Path) -> Iterator[Opened]:
    root, waiting, count = folder.resolve(), [(folder, DEEPEST)], 0
    while waiting:
        here, depth = waiting.pop()
        for path in sorted(here.iterdir()):
            count += 1
            if count > MOST_NAMES:
                raise Refused(f"{folder} has too many files. Give a folder with the export alone.")
            if not path.resolve().is_relative_to(root):
                continue
            if path.is_dir() and depth and not path.is_symlink():
                waiting.append((path, depth - 1))
            elif path.is_file():
                yield str(path.relative_to(folder)), lambda path=path: path.open("rb")  # type: ignore[misc]


def _in_zip(place: Path, stack: ExitStack) -> Iterator[Opened]:
    stream = stack.enter_context(place.open("rb"))
    head = stream.read(4)
    if not is_zip(head):
        raise Refused(f"{place} is no folder, zip file or archive of an export. {HOW}")
    try:
        archive = stack.enter_context(open_zip(stream))
    except BadArchive as error:
        raise Refused(f"{place}: {error}") from error
    for member in archive.infolist():
        if not member.is_dir():
            yield member.filename, lambda member=member: open_member(archive, member)  # type: ignore[misc]


def channels_of(export: Export) -> list[OldChannel]:
    return [_channel(document) for document in export.small["channels"]]


def _channel(document: Document) -> OldChannel:
    settings, uid = _dict(document, "settings"), text_at(document, "uid")
    lost = [f"{name} {settings[name]}"[:100] for name in _KEPT if _number(settings.get(name))]
    return OldChannel(
        key=_key(document),
        uid=uid,
        name=one_line(text_at(document, "name")) or uid,
        order=_number(document.get("order")),
        owner=text_at(document, "userId"),
        kinds=tuple(map(one_line, _texts(settings.get("excludeTypes"), MOST_TYPES))),
        pattern=text_at(settings, "excludeRegex"),
        lost=tuple(lost),
    )


def follows_of(export: Export) -> list[OldFollow]:
    return [_follow(document) for document in export.small["feeds"]]


def _follow(document: Document) -> OldFollow:
    status = one_line(text_at(document, "status"))
    error = one_line(text_at(document, "lastError")) if status == "error" else ""
    return OldFollow(
        key=_key(document),
        channel=text_at(document, "channelId"),
        url=text_at(document, "url").strip(),
        title=one_line(text_at(document, "title")),
        site_url=text_at(document, "siteUrl").strip(),
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
        guid=without_controls(text_at(source, "originalId")).strip(),
        digest=text_at(document, "uid"),
        feed_url=text_at(source, "feedUrl"),
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
        source, target = (text_at(document, name).strip() for name in ("source", "target"))
        entry = _entry({**document, "url": document.get("url") or source})
        owner, kind = text_at(document, "userId"), one_line(text_at(document, "type"))
        yield OldMention(owner, source, target, kind, entry)


def mutes_of(export: Export) -> Iterator[OldMute]:
    for name, is_block in (("muted", False), ("blocked", True)):
        for document in export.small.get(name, ()):
            url = text_at(document, "url") or text_at(document, "authorUrl")
            owner, channel = text_at(document, "userId"), text_at(document, "channelId")
            yield OldMute(owner, is_block, channel, url.strip())


def deck_of(export: Export) -> Iterator[tuple[str, float, str]]:
    """Yield the columns’ owners, positions and channels."""
    for document in export.small.get("deck_config", ()):
        columns = document.get("columns")
        for one in columns[:MOST_COLUMNS] if isinstance(columns, list) else ():
            if isinstance(one, dict):
                yield text_at(document, "userId"), _number(one.get("order")), text_at(one, "channelId")


def _texts(value: Any, most: int) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in values[:most] if isinstance(text, str) and text]


def _dict(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = values.get(name)
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) < 1e9 else 0


def _key(document: Document) -> str:
    """Return its id in MongoDB."""
    return text_at(document, "_id")[:64]
