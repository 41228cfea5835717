"""Everything leaves with a site, and an empty site that imports it is equal.

An archive from elsewhere, or a damaged one, is refused at little cost and changes nothing.
"""

import hashlib
import io
import json
import re
import struct
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, transaction

from common import signing
from common.cli.progress import Progress
from common.refused import Refused
from common.secrets import opened
from delivery.models import Delivery, DkimKey
from feedletter_site.export import rows, site
from feedletter_site.export.parts import EXPORTED_PARTS, LEFT_OUT
from feedletter_site.export.site import ARRIVED, export_site, import_site
from feeds.models import Feed
from reader.models import Token
from subscriptions.lists.importer import import_subscribers
from subscriptions.models import Destination, ErasedMark, Subscribable, Subscription, Suppression
from subscriptions.privacy.erase import erase
from tests.factories import (
    NOW,
    FeedFactory,
    IssueFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
)
from tests.site.export.whole_site import whole_site

FEEDS = "data/feeds.Feed.jsonl"
Files = dict[str, bytes]
Change = Callable[[Files], Files]
pytestmark = pytest.mark.django_db
PHRASE = "correct horse battery"


def test_every_model_is_exported_or_left_out_with_a_reason() -> None:
    exported = [part.label for part in EXPORTED_PARTS]
    left_out = [label for labels in LEFT_OUT.values() for label in labels.split()]
    models = [model for model in apps.get_models(include_auto_created=True) if not model._meta.proxy]
    assert sorted(exported + left_out) == sorted(model._meta.label for model in models)


def export(path: Path, phrase: str = "") -> dict[str, bytes]:
    export_site(path, phrase, now=NOW)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def imported(path: Path, phrase: str = "", *, without_secrets: bool = False) -> dict[str, int]:
    return import_site(path, phrase, without_secrets=without_secrets, now=NOW)


def empty_site() -> None:
    with transaction.atomic():
        for part in EXPORTED_PARTS:
            part.model._base_manager.all()._raw_delete(connection.alias)


def test_a_site_is_equal_after_the_round_trip(tmp_path: Path) -> None:
    whole_site()
    before = export(tmp_path / "first.zip")
    token = Subscription.objects.order_by("pk").values_list("pk", "token").first()
    empty_site()
    counts = imported(tmp_path / "first.zip")
    assert all(counts.values())
    assert Subscription.objects.order_by("pk").values_list("pk", "token").first() == token
    after = export(tmp_path / "second.zip")
    assert after == before
    assert b"kept secret" not in b"".join(before.values())


def test_newsletters_arrive_paused_and_rows_can_be_added(tmp_path: Path) -> None:
    whole_site()
    export(tmp_path / "site.zip")
    empty_site()
    imported(tmp_path / "site.zip")
    assert set(Subscribable.objects.values_list("sending_paused_at", "sending_paused_reason")) == {
        (NOW, ARRIVED)
    }
    assert not User.objects.get().has_usable_password()
    newest = Feed.objects.latest("pk").pk
    assert FeedFactory().pk > newest


def test_secrets_come_with_the_pass_phrase_only(tmp_path: Path, settings: Any) -> None:
    whole_site()
    password = User.objects.get().password
    before = export(tmp_path / "site.zip", PHRASE)
    assert b"kept secret" not in b"".join(before.values())
    empty_site()
    with pytest.raises(Refused, match="--passphrase-file"):
        imported(tmp_path / "site.zip")
    with pytest.raises(Refused, match="pass phrase"):
        imported(tmp_path / "site.zip", "another phrase")
    settings.SECRET_KEY = "the key of another site " * 4
    imported(tmp_path / "site.zip", PHRASE)
    assert opened(Destination.objects.get(kind="mastodon").secrets) == {"access_token": "kept secret"}
    assert opened(DkimKey.objects.get().private) == {"token": "kept secret"}
    assert User.objects.get().password == password
    assert Token.objects.count() == 1
    empty_site()
    imported(tmp_path / "site.zip", without_secrets=True)
    assert not Destination.objects.get(kind="mastodon").secrets
    assert not DkimKey.objects.exists()


@pytest.mark.parametrize("is_first_release", [False, True])
def test_an_erased_person_stays_erased_under_another_secret_key(
    is_first_release: bool, tmp_path: Path, settings: Any
) -> None:
    if is_first_release:
        ErasedMark.objects.create(digest=signing.stamp("erased", "email gone@example.org"))
    else:
        gone = SubscriptionFactory(destination__core="gone@example.org")
        erase(destination=gone.destination, now=NOW)
    export(tmp_path / "site.zip", PHRASE)
    empty_site()
    settings.SECRET_KEY = "the key of another site " * 4
    imported(tmp_path / "site.zip", PHRASE)
    lines = ["email,status\n", "gone@example.org,confirmed\n"]
    report = import_subscribers(subscribable=SubscribableFactory(), lines=lines, now=NOW)
    assert report.outcomes["erased"] == 1


def test_a_site_that_has_something_is_refused(tmp_path: Path) -> None:
    whole_site()
    export(tmp_path / "site.zip")
    empty_site()
    SuppressionFactory()
    with pytest.raises(Refused, match="This site has rows already"):
        imported(tmp_path / "site.zip")
    assert not Feed.objects.exists()
    assert Suppression.objects.count() == 1


def test_files_for_people(tmp_path: Path) -> None:
    whole_site()
    files = export(tmp_path / "site.zip")
    people = {name.rsplit("/", 1)[0] for name in files if name.startswith("people/")}
    assert people == {
        "people",
        "people/readers",
        "people/subscribers",
        "people/do-not-email",
        "people/issues",
    }
    assert b"<opml" in files["people/feeds.opml"]
    page = next(text for name, text in files.items() if name.endswith(".html"))
    assert b"The text of post" in page


def test_older_issues_share_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newsletter = SubscribableFactory(name="news")
    for number in range(6):
        IssueFactory(
            subscribable=newsletter, within_type_id=str(number), title=f"Issue {number}", published_at=NOW
        )
    monkeypatch.setattr(rows, "MOST_PAGES", 1)
    monkeypatch.setattr(rows, "OLDER_TOGETHER", 3)
    monkeypatch.setattr(rows, "PEOPLE_A_QUERY", 2)
    progress = Progress("", io.StringIO())
    path = tmp_path / "site.zip"
    export_site(path, "", now=NOW, progress=progress)
    with zipfile.ZipFile(path) as archive:
        pages = {name: archive.read(name).decode() for name in archive.namelist() if "people/issues" in name}
    titles = [re.findall(r"<h1>Issue (\d)</h1>", text) for text in pages.values()]
    assert titles == [["5"], ["4", "3", "2"], ["1", "0"]]
    assert [name.rpartition("/")[2] for name in pages][1:] == ["older-00001.html", "older-00002.html"]
    assert {(text.count("<html"), text.count("</html>")) for text in pages.values()} == {(1, 1)}
    assert progress.done == progress.total


def test_rows_name_others_by_their_natural_keys(tmp_path: Path) -> None:
    whole_site()
    files = export(tmp_path / "site.zip")
    first: Any = Delivery.objects.select_related("issue__subscribable", "destination").earliest("pk")
    row = json.loads(files["data/delivery.Delivery.jsonl"].splitlines()[0])
    assert row["issue"] == [first.issue.subscribable.name, first.issue.within_type_id]
    assert row["destination"] == [first.destination.kind, first.destination.core]
    assert (row["id"], row["state"]) == (first.pk, "sent")


def test_the_command_says_what_is_left_out(tmp_path: Path) -> None:
    whole_site()
    out = io.StringIO()
    call_command("export_site", str(tmp_path / "site.zip"), stdout=out, stderr=io.StringIO())
    assert "feeds.Feed.credentials (1)" in out.getvalue()
    assert (tmp_path / "site.zip").stat().st_mode & 0o077 == 0


@pytest.fixture
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
@pytest.mark.usefixtures("no_snapshot")
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


@pytest.mark.usefixtures("no_snapshot")
def test_a_row_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "LONGEST_ROW", 1000)
    refused(
        tmp_path, lambda files: written({**files, FEEDS: b" " * 2000 + b"\n"}), "Row 1 of .* is too large"
    )


@pytest.mark.parametrize("text", [b"", b"PK", b"no zip at all" * 99])
@pytest.mark.usefixtures("no_snapshot")
def test_no_zip(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "site.zip"
    path.write_bytes(text)
    with pytest.raises(Refused, match="is no archive of export_site, or damaged"):
        take(path)


@pytest.mark.usefixtures("no_snapshot")
def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read: No such file"):
        take(tmp_path / "site.zip")


@pytest.mark.usefixtures("no_snapshot")
def test_a_long_list_of_files_is_not_read(tmp_path: Path) -> None:
    path, size = tmp_path / "site.zip", site.LONGEST_LIST + 1
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, size, 0, 0)
    with path.open("wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(end)
    with pytest.raises(Refused, match="too many files"):
        take(path)


@pytest.mark.usefixtures("no_snapshot")
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


@pytest.mark.usefixtures("no_snapshot")
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
