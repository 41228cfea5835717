"""Documents of MongoDB: JSON of mongoexport, BSON and archives of mongodump (https://bsonspec.org).

Ids become hex digits, dates ISO 8601, other types of MongoDB None. Pure.
"""

import codecs
import json
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import Any

from common.refused import Refused

# MongoDB's own limits.
LONGEST, DEEPEST = 17_000_000, 100
# Of one document, as each value takes up to 100 octets of memory.
MOST_BSON_VALUES = 250_000
# Of an archive: its start, and its end mark (a length of -1).
ARCHIVE, END = bytes.fromhex("6de29981"), bytes.fromhex("ffffffff")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Separators, also in an array.
_BETWEEN = re.compile(r"[\s,\[\]]*")
_NUMBERS = {"$numberInt": int, "$numberLong": int, "$numberDouble": float, "$numberDecimal": float}
# Kinds of numbers, and sizes of other types.
_FORMATS = {0x01: "<d", 0x10: "<i", 0x12: "<q"}
_OTHERS = {0x06: 0, 0x0A: 0, 0x11: 8, 0x13: 16, 0x7F: 0, 0xFF: 0}
Document = dict[str, Any]
TOO_MANY = f"Document {{:,}} has more than {MOST_BSON_VALUES:,} values. Export it again without it."


class BadDocuments(Refused):
    pass


def json_documents(pieces: Iterable[bytes]) -> Iterator[Document]:
    """Read a document a line, or an array, in UTF-8. Raises BadDocuments."""
    decode = codecs.getincrementaldecoder("utf-8-sig")().decode
    parse = json.JSONDecoder(object_hook=_plain).raw_decode
    text, wanted, count, values = "", 0, 0, 0
    for piece in chain(pieces, (None,)):
        try:
            text += decode(piece or b"", piece is None)
        except UnicodeDecodeError as error:
            raise _broken(count) from error
        values += _separators(piece or b"")
        # A long document isn't parsed again for each piece.
        if piece is not None and len(text) < min(wanted, LONGEST) and values <= MOST_BSON_VALUES:
            continue
        position = 0
        while (position := _end_of(_BETWEEN.match(text, position))) < len(text):
            try:
                document, position = parse(text, position)
            except (ValueError, RecursionError) as error:
                if piece is None or len(text) - position > LONGEST:
                    raise _broken(count) from error
                break
            if not isinstance(document, dict):
                raise _broken(count)
            yield document
            count += 1
        text = text[position:]
        wanted, values = 2 * len(text), _separators(text.encode(errors="replace"))
        if values > MOST_BSON_VALUES:
            raise BadDocuments(TOO_MANY.format(count + 1))


def bson_documents(pieces: Iterable[bytes]) -> Iterator[Document]:
    """Raises BadDocuments."""
    for count, octets in enumerate(_octets_of(pieces)):
        if octets is None:
            raise _broken(count)
        yield _parsed(octets, count)


def archive_documents(
    pieces: Iterable[bytes], wanted: Sequence[str]
) -> Iterator[tuple[str, Document | None]]:
    """Yield the wanted collections of `mongodump --archive`, without a document, and then their documents.

    It has blocks of a header, documents and an end mark. The first block describes the collections, whose
    blocks alternate; the last one of each says EOF (mongo-tools, common/archive). Raises BadDocuments.
    """
    header: Document | None = None
    blocks, count, unfinished = 0, 0, set[str]()
    for octets in _octets_of(pieces, ARCHIVE):
        if octets is None:
            if header is None:
                raise _broken(count)
            header, blocks = None, blocks + 1
        elif header is None:
            header = _parsed(octets, count)
            if header.get("EOF"):
                unfinished.discard(f"{header.get('db')}.{header.get('collection')}")
        elif not blocks:
            described = _parsed(octets, count)
            if (name := str(described.get("collection"))) in wanted:
                unfinished.add(f"{described.get('db')}.{name}")
                yield name, None
        elif (name := str(header.get("collection"))) in wanted:
            yield name, _parsed(octets, count)
            count += 1
    if header is not None or not blocks or unfinished:
        raise _broken(count)


def _octets_of(pieces: Iterable[bytes], start: bytes = b"") -> Iterator[bytes | None]:
    """Yield each document after the file's start, and None for an end mark."""
    octets, count = bytearray(), 0
    for piece in pieces:
        octets += piece
        if len(octets) < len(start):
            continue
        if not octets.startswith(start):
            raise BadDocuments("It isn’t an archive of mongodump.")
        position, start = len(start), b""
        while len(octets) - position >= len(END):
            if octets[position : position + len(END)] == END:
                yield None
                position += len(END)
                continue
            size = int.from_bytes(octets[position : position + 4], "little")
            if not 5 <= size <= LONGEST:
                raise _broken(count)
            if len(octets) - position < size:
                break
            yield bytes(octets[position : position + size])
            count, position = count + 1, position + size
        del octets[:position]
    if octets:
        raise _broken(count)


def _parsed(octets: bytes, count: int) -> Document:
    try:
        return _document(octets, 0, DEEPEST, iter(range(MOST_BSON_VALUES)))[0]
    except StopIteration:
        raise BadDocuments(TOO_MANY.format(count + 1)) from None
    except (ValueError, struct.error, IndexError) as error:
        raise _broken(count) from error


def _document(octets: bytes, start: int, depth: int, left: Iterator[int]) -> tuple[Document, int]:
    """Return a document and its end. Raises ValueError, IndexError, struct.error and StopIteration."""
    end = start + struct.unpack_from("<i", octets, start)[0]
    if not depth or not start + 5 <= end <= len(octets) or octets[end - 1]:
        raise ValueError
    values: Document = {}
    position = start + 4
    while position < end - 1:
        next(left)
        kind, stop = octets[position], octets.index(0, position + 1)
        name = octets[position + 1 : stop].decode()
        values[name], position = _value(kind, octets, stop + 1, depth, left)
    if position != end - 1:
        raise ValueError
    return values, end


def _value(kind: int, octets: bytes, at: int, depth: int, left: Iterator[int]) -> tuple[Any, int]:
    if format := _FORMATS.get(kind):
        return struct.unpack_from(format, octets, at)[0], at + struct.calcsize(format)
    if kind in _OTHERS:
        return None, at + _OTHERS[kind]
    match kind:
        case 0x02 | 0x0D | 0x0E:
            end = at + 4 + struct.unpack_from("<i", octets, at)[0]
            if not at + 5 <= end <= len(octets):
                raise ValueError
            return octets[at + 4 : end - 1].decode(), end
        case 0x03:
            return _document(octets, at, depth - 1, left)
        case 0x04:
            values, end = _document(octets, at, depth - 1, left)
            return list(values.values()), end
        case 0x05:
            size = struct.unpack_from("<i", octets, at)[0]
            if size < 0:
                raise ValueError
            return None, at + 5 + size
        case 0x07:
            return octets[at : at + 12].hex(), at + 12
        case 0x08:
            return octets[at] == 1, at + 1
        case 0x09:
            return _date(struct.unpack_from("<q", octets, at)[0]), at + 8
        case 0x0B:
            return None, octets.index(0, octets.index(0, at) + 1) + 1
    raise ValueError


def _separators(octets: bytes) -> int:
    """Return at most so many values there can be."""
    return octets.count(b",") + octets.count(b"[") + octets.count(b"{")


def _plain(value: Document) -> Any:
    """Replace the objects of extended JSON."""
    name = next(iter(value), "")
    if not name.startswith("$") or len(value) > 2:
        return value
    inner = value[name]
    if name == "$oid":
        return inner if isinstance(inner, str) else None
    if name == "$date":
        return inner if isinstance(inner, str) else _date(inner)
    try:
        return _NUMBERS[name](inner) if name in _NUMBERS else None
    except (TypeError, ValueError):
        return None


def _date(milliseconds: Any) -> str | None:
    try:
        return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat()
    except (TypeError, ValueError, OverflowError):
        return None


def _end_of(match: re.Match[str] | None) -> int:
    return match.end() if match else 0


def _broken(count: int) -> BadDocuments:
    return BadDocuments(f"It is broken after {count:,} documents. Export it again.")
