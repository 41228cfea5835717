"""Zip and gzip files of others: refused before they cost much."""

import gzip
import io
import struct
import zipfile

import pytest

from common.archives import MOST_DIRECTORY, BadArchive, Budget, open_zip, pieces_of


def zipped(name: str = "a.json", body: bytes = b"{}", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr(name, body)
    return out.getvalue()


def test_a_member_is_read_in_pieces() -> None:
    with open_zip(io.BytesIO(zipped(body=b"x" * 3_000_000))) as archive:
        assert sum(map(len, pieces_of(archive.open("a.json"), Budget(3_000_000)))) == 3_000_000


@pytest.mark.parametrize("is_gzip", [False, True])
def test_a_bomb_ends_at_the_budget(is_gzip: bool) -> None:
    body = b"\0" * 50_000_000
    packed = (
        io.BytesIO(gzip.compress(body)) if is_gzip else open_zip(io.BytesIO(zipped(body=body))).open("a.json")
    )
    with pytest.raises(BadArchive, match="larger than 2 MB"):
        for _ in pieces_of(packed, Budget(2 * 1024 * 1024), is_gzip=is_gzip):
            pass


def test_sizes_in_the_directory_are_not_believed() -> None:
    body = bytearray(zipped(body=b"x" * 1_000))
    at = body.rfind(b"PK\1\2")
    body[at + 24 : at + 28] = struct.pack("<L", 0xFFFFFFF0)
    archive = open_zip(io.BytesIO(bytes(body)))
    assert sum(map(len, pieces_of(archive.open("a.json"), Budget(10_000)))) == 1_000


@pytest.mark.parametrize(
    ("place", "number"),
    [(20, 0xFFFFFFF0), (20, 120), (42, 0), (42, 10)],
    ids=["4 GB packed", "into the directory", "the data of another", "within another"],
)
def test_members_that_overlap_are_damaged(place: int, number: int) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", b"{}")
        archive.writestr("b.json", b"{}")
    body = bytearray(out.getvalue())
    at = body.rfind(b"PK\1\2") + place
    body[at : at + 4] = struct.pack("<L", number)
    with pytest.raises(BadArchive, match="damaged"):
        open_zip(io.BytesIO(bytes(body)))


@pytest.mark.parametrize("body", [b"", b"{}"], ids=["empty", "stored"])
def test_plain_members_side_by_side_are_read(body: bytes) -> None:
    out = io.BytesIO(b"before")
    out.seek(6)
    with zipfile.ZipFile(out, "a") as archive:
        for name in ("folder/", "a.json", "b.json"):
            archive.writestr(name, body)
    with open_zip(out) as archive:
        assert [archive.read(each) for each in archive.infolist()] == [body] * 3


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_unusual_methods_are_refused(method: int) -> None:
    with pytest.raises(BadArchive, match="unusual"):
        open_zip(io.BytesIO(zipped(method=method)))


def test_encrypted_members_are_refused() -> None:
    body = bytearray(zipped())
    body[body.rfind(b"PK\1\2") + 8] |= 1
    with pytest.raises(BadArchive, match="encrypted"):
        open_zip(io.BytesIO(bytes(body)))


@pytest.mark.parametrize("in_64_bits", [False, True])
def test_a_huge_directory_is_not_read(in_64_bits: bool) -> None:
    body = bytearray(zipped())
    end = body.rfind(b"PK\5\6")
    if in_64_bits:
        record = b"PK\6\6" + struct.pack("<QHHLLQQQQ", 44, 45, 45, 0, 0, 1, 1, MOST_DIRECTORY + 1, 0)
        locator = b"PK\6\7" + struct.pack("<LQL", 0, end, 1)
        body[end:end] = record + locator
    else:
        body[end + 12 : end + 16] = struct.pack("<L", MOST_DIRECTORY + 1)
    with pytest.raises(BadArchive, match="too many files"):
        open_zip(io.BytesIO(bytes(body)))


@pytest.mark.parametrize("body", [b"", b"PK\3\4", b"PK\5\6" + b"\0" * 3, b"\0" * 100_000])
def test_no_zip_is_damaged(body: bytes) -> None:
    with pytest.raises(BadArchive, match="damaged"):
        open_zip(io.BytesIO(body))


def test_half_a_gzip_is_damaged() -> None:
    with pytest.raises(BadArchive, match="damaged"):
        list(pieces_of(io.BytesIO(gzip.compress(b"x" * 1_000)[:-5]), Budget(10_000), is_gzip=True))
