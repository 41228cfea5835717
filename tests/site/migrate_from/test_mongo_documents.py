"""Extended JSON and BSON, cut anywhere and from anybody."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrate_from.microsub import documents
from migrate_from.microsub.documents import BadDocuments, archive_documents, bson_documents, json_documents
from tests.site.migrate_from.test_microsub import bson, mongodump

TEXT = (
    '{"a": "ä€😀", "n": [1, {"b": null}]}\n{"_id": {"$oid": "66"}, "at": {"$date": "2026-01-01T00:00:00Z"}}'
)
READ = [{"a": "ä€😀", "n": [1, {"b": None}]}, {"_id": "66", "at": "2026-01-01T00:00:00Z"}]


def cut(octets: bytes, size: int) -> Iterator[bytes]:
    return (octets[start : start + size] for start in range(0, len(octets), size))


@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize("array", [False, True])
def test_json_is_read_in_any_pieces(size: int, array: bool) -> None:
    text = f"[{TEXT.replace(chr(10), ',')}]\n" if array else TEXT
    assert list(json_documents(cut(text.encode(), size))) == READ


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_bson_is_read_in_any_pieces(size: int) -> None:
    documents: list[dict[str, Any]] = [{"a": "ä", "n": [1, True, None]}, {"b": {"c": 2}}]
    octets = b"".join(bson(document) for document in documents) * 3
    assert list(bson_documents(cut(octets, size))) == documents * 3


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_an_archive_is_read_in_any_pieces(size: int) -> None:
    wanted: list[dict[str, Any]] = [{"a": "ä"}, {"b": {"c": 2}}, {}]
    other = bson({"x": 1})
    rows = [bson(document) for document in wanted]
    blocks = [("w", False, rows[:2]), ("o", False, [other]), ("w", False, rows[2:]), ("o", True, [])]
    octets = mongodump(["w", "o", "e"], [*blocks, ("w", True, []), ("e", True, [])])
    read = list(archive_documents(cut(octets, size), ("w", "e")))
    assert read == [("w", None), ("e", None), *(("w", document) for document in wanted)]


def test_half_an_archive_is_refused() -> None:
    whole = mongodump(["w"], [("w", False, [bson({"a": "text"})]), ("w", True, [])])
    for end in range(len(whole)):
        with pytest.raises(BadDocuments):
            list(archive_documents([whole[:end]], ("w",)))
    assert len(list(archive_documents([whole], ("w",)))) == 2


def test_other_types_of_bson_are_passed_over() -> None:
    body = (
        b"\x01d\0"
        + b"\0" * 8
        + b"\x05b\0\x02\0\0\0\0xx"
        + b"\x0br\0a\0i\0"
        + b"\x12l\0\x05"
        + b"\0" * 7
        + b"\x11t\0"
        + b"\0" * 8
        + b"\x13e\0"
        + b"\0" * 16
        + b"\xffm\0"
    )
    octets = (len(body) + 5).to_bytes(4, "little") + body + b"\0"
    (document,) = bson_documents([octets])
    assert document == {"d": 0.0, "b": None, "r": None, "l": 5, "t": None, "e": None, "m": None}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('{"$date": {"$numberLong": "0"}}', "1970-01-01T00:00:00+00:00"),
        ('{"$date": 1000}', "1970-01-01T00:00:01+00:00"),
        ('{"$date": {"$numberLong": "99999999999999999999"}}', None),
        ('{"$date": []}', None),
        ('{"$numberInt": "5"}', 5),
        ('{"$numberLong": "' + "9" * 5_000 + '"}', None),
        ('{"$numberDouble": "x"}', None),
        ('{"$oid": 5}', None),
        ('{"$binary": {"base64": "", "subType": "00"}}', None),
        ("{}", {}),
    ],
)
def test_objects_of_extended_json_become_values(written: str, read: object) -> None:
    assert list(json_documents([f'{{"x": {written}}}'.encode()])) == [{"x": read}]


def test_documents_have_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LONGEST", 100)
    with pytest.raises(BadDocuments, match="after 1 documents"):
        list(json_documents(cut(b'{"a":1}{"b":"' + b"x" * 10_000, 50)))
    with pytest.raises(BadDocuments):
        list(bson_documents([bson({"a": "x" * 200})]))


def nested(depth: int) -> bytes:
    octets = bson({})
    for _ in range(depth):
        body = b"\x03a\0" + octets
        octets = (len(body) + 5).to_bytes(4, "little") + body + b"\0"
    return octets


def test_bson_has_a_largest_depth() -> None:
    assert len(list(bson_documents([nested(50)]))) == 1
    with pytest.raises(BadDocuments):
        list(bson_documents([nested(5_000)]))


@given(st.binary(max_size=200), st.integers(0, 60))
def test_no_bytes_raise_anything_but_the_one_error(body: bytes, at: int) -> None:
    whole = bson({"a": "text", "b": [1, {"c": None}]})
    archive = mongodump(["w"], [("w", False, [whole]), ("w", True, [])])
    given = (body, whole[:at] + body + whole[at:], len(body).to_bytes(4, "little") + body)
    for octets in (*given, archive[:at] + body + archive[at:]):
        for read in (json_documents, bson_documents, partial(archive_documents, wanted=("w",))):
            try:
                list(read([octets]))
            except BadDocuments:
                continue
