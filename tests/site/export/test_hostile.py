"""An archive from elsewhere, or a damaged one, is refused at little cost and changes nothing."""

import hashlib
import json
import struct
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from common.refused import Refused
from feedletter_site.export import site
from feedletter_site.export.site import export_site, import_site
from feeds.models import Feed
from tests.factories import NOW, FeedFactory
from tests.site.export.test_export import empty_site

pytestmark = pytest.mark.django_db
FEEDS = "data/feeds.Feed.jsonl"
Files = dict[str, bytes]
Change = Callable[[Files], Files]


@pytest.fixture(autouse=True)
def no_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests have a transaction already."""
    monkeypatch.setattr(site, "_snapshot", nullcontext)


def without(name: str) -> Change:
    return lambda files: {each: text for each, text in files.items() if each != name}


def with_file(name: str, text: bytes) -> Change:
    return lambda files: {**files, name: text}


def in_manifest(**changes: object) -> Change:
    def changed(files: Files) -> Files:
        manifest = json.loads(files["manifest.json"]) | changes
        return {**files, "manifest.json": json.dumps(manifest).encode()}

    return changed


def with_feed(**changes: object) -> Change:
    """The digest is right."""

    def changed(files: Files) -> Files:
        row = json.loads(files[FEEDS]) | changes
        text = json.dumps(row).encode() + b"\n"
        return written({**files, FEEDS: text})

    return changed


def written(files: Files) -> Files:
    manifest = json.loads(files["manifest.json"])
    digest = hashlib.sha256(files[FEEDS]).hexdigest()
    manifest["parts"][FEEDS] = {"lines": files[FEEDS].count(b"\n"), "sha256": digest}
    return {**files, "manifest.json": json.dumps(manifest).encode()}


CASES: dict[str, tuple[Change, str]] = {
    "no manifest": (without("manifest.json"), "has no manifest.json"),
    "a broken manifest": (with_file("manifest.json", b"{"), "manifest.json is damaged"),
    "a list as manifest": (with_file("manifest.json", b"[]"), "manifest.json is damaged"),
    "deep manifest": (with_file("manifest.json", b"[" * 100_000), "manifest.json is damaged"),
    "a newer format": (in_manifest(format=2), "A newer Feedletter made the archive"),
    "no format": (in_manifest(format=0), "manifest.json is damaged"),
    "parts of another kind": (in_manifest(parts={FEEDS: 7}), "manifest.json is damaged"),
    "an unknown part": (in_manifest(parts={"data/x": {"lines": 0, "sha256": ""}}), "is unknown here"),
    "a part missing": (without(FEEDS), f"{FEEDS} is missing"),
    "another digest": (with_file(FEEDS, b""), "its digest differs"),
    "more lines": (lambda files: {**files, FEEDS: files[FEEDS] * 9}, "its digest differs|feeds_feed"),
    "a path out of the folder": (with_file("../../etc/cron.d/x", b"x"), "outside of its folder"),
    "a path of the root": (with_file("/etc/cron.d/x", b"x"), "outside of its folder"),
    "a zip bomb": (with_file(FEEDS, bytes(100_000_000)), "would become 100,000,000 bytes"),
    "a bomb beside": (with_file("people/x", bytes(100_000_000)), "would become 100,000,000 bytes"),
    "no row": (lambda files: written({**files, FEEDS: b"[]\n"}), "a row is no object"),
    "a deep row": (lambda files: written({**files, FEEDS: b"[" * 100_000 + b"\n"}), "rows 1 to 1"),
    "an unknown field": (with_feed(owner=1), "“owner” is unknown here"),
    "another type": (with_feed(title=["a"]), "“title” cannot be"),
    "a number that is none": (with_feed(failures=True), "“failures” cannot be"),
    "a time without a zone": (with_feed(added_at="2026-01-01"), "a time has no zone"),
    "an empty time": (with_feed(added_at=None), "does not fit together"),
}


@pytest.mark.parametrize("name", CASES)
def test_refused(name: str, tmp_path: Path) -> None:
    change, sentence = CASES[name]
    refused(tmp_path, change, sentence)


def refused(tmp_path: Path, change: Change, sentence: str) -> None:
    FeedFactory()
    good, bad = tmp_path / "good.zip", tmp_path / "bad.zip"
    export_site(good, "", now=NOW)
    empty_site()
    with zipfile.ZipFile(good) as source:
        files = {each: source.read(each) for each in source.namelist()}
    with zipfile.ZipFile(bad, "w", zipfile.ZIP_DEFLATED) as target:
        for each, text in change(files).items():
            target.writestr(each, text)
    with pytest.raises(Refused, match=sentence):
        take(bad)
    assert not Feed.objects.exists()


def take(path: Path) -> Any:
    return import_site(path, "", without_secrets=False, now=NOW)


def test_a_row_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "LONGEST_ROW", 1000)
    refused(
        tmp_path, lambda files: written({**files, FEEDS: b" " * 2000 + b"\n"}), "Row 1 of .* is too large"
    )


@pytest.mark.parametrize("text", [b"", b"PK", b"no zip at all" * 99])
def test_no_zip(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "site.zip"
    path.write_bytes(text)
    with pytest.raises(Refused, match="is no archive of export_site, or damaged"):
        take(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read: No such file"):
        take(tmp_path / "site.zip")


def test_a_long_list_of_files_is_not_read(tmp_path: Path) -> None:
    path, size = tmp_path / "site.zip", site.LONGEST_LIST + 1
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, size, 0, 0)
    with path.open("wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(end)
    with pytest.raises(Refused, match="too many files"):
        take(path)


def test_a_part_of_4_gigabytes_by_its_directory_is_damaged(tmp_path: Path) -> None:
    FeedFactory()
    path = tmp_path / "site.zip"
    export_site(path, "", now=NOW)
    empty_site()
    text = bytearray(path.read_bytes())
    # In the list of files: both sizes of this part.
    at = text.rfind(FEEDS.encode()) - 46 + 20
    text[at : at + 8] = struct.pack("<LL", 0xFFFFFFF0, 0xFFFFFFF0)
    path.write_bytes(text)
    with pytest.raises(Refused):
        take(path)
    assert not Feed.objects.exists()


def test_bytes_changed_on_the_way(tmp_path: Path) -> None:
    FeedFactory()
    path = tmp_path / "site.zip"
    export_site(path, "", now=NOW)
    empty_site()
    text = bytearray(path.read_bytes())
    for place in range(100, len(text) - 2000, 997):
        text[place] ^= 0x55
    path.write_bytes(text)
    with pytest.raises(Refused):
        take(path)
    assert not Feed.objects.exists()
