"""Import of Indiekit's Microsub collections into the reader."""

import gzip
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from feedletter_site.migrate_from import follows, readers
from feedletter_site.migrate_from.take_over import begin_taking, work_off_arrivals
from feedletter_site.models import Arrival
from feeds.models import Feed
from feeds.polling.poll import poll_due
from migrate_from.microsub import files
from migrate_from.microsub.documents import ARCHIVE, END
from reader.entries.place import place_due
from reader.entries.prune import prune_entries
from reader.models import Channel, Entry, Follow, Mention, Mute, Reader, TimelineEntry, Unread
from reader.people.readers import add_reader
from tests.servers.feed_server import FeedServer
from tests.site.migrate_from.acceptance import not_said
from tests.site.migrate_from.pages import act, page

NEEDS_APP = "reader"
SECOND_DATABASE = True
pytestmark = pytest.mark.django_db
OLD_SITE = "http://127.0.0.1:8992"
FILES = Path(__file__).parents[2] / "fixtures" / "migrations" / "microsub"

# As in the README of the fixture.
TRAPS = (
    "channel Orphan: It belongs to nobody",
    "feed Lost: Its channel isn’t in the export",
    "posts 1 post: Their channels aren’t in the export",
    "filter Slow: excludeRegex: It can take too long",
    "filter Code: excludeRegex: It uses signs that have another meaning here",
    "feed Secret: Its address contains a user name or password",
    "notification javascript:alert(6)",
    "blocked author troll",
    "settings News: These settings have no equivalent here: excludeTypes sponsored.",
    "maxItems 500; maxUnreadAgeDays 30",
    "channel Odd uid: Its uid was “odd/uid”",
    "posts River: 2 posts had no text left",
    "feed Gone: It failed there (HTTP 410)",
    "deck deck: Its columns are in the order of the channels",
    "muted author https://troll.example/: Hides 1 post.",
    "blocked author https://spam.example/: Removes 1 post.",
)
FIGURES = {"follows": 3, "unread": 6, "places": 13, "mentions": 2, "mutes": 3, "channels": 7, "entries": 13}


@pytest.fixture
def ada() -> Reader:
    return add_reader(name="ada", now=utcnow())


@pytest.fixture
def site(loopback_allowed: None) -> Iterator[FeedServer]:
    with FeedServer() as server:
        body = (FILES / "river.xml").read_bytes()
        server.serve("/river.xml", body, headers={"Content-Type": "application/rss+xml"})
        yield server


@pytest.fixture
def folder(site: FeedServer, tmp_path: Path) -> Path:
    place = tmp_path / "export"
    place.mkdir()
    for file in FILES.glob("*.json"):
        (place / file.name).write_text(file.read_text().replace(OLD_SITE, site.url("/").rstrip("/")))
    return place


def run(place: Path, *options: str) -> dict[str, Any]:
    out = StringIO()
    arguments = ("microsub", str(place), "--json", *(options or ("--reader", "ada")))
    call_command("migrate_from", *arguments, stdout=out)
    facts: dict[str, Any] = json.loads(out.getvalue())
    return facts


def lines(facts: dict[str, Any], *what: str) -> list[str]:
    rows = facts["lines"]
    return [f"{row['kind']} {row['name']}: {row['words']}" for row in rows if row["what"] in what]


def everything() -> dict[str, Any]:
    models = [
        model
        for app in ("feeds", "reader", "feedletter_site")
        for model in apps.get_app_config(app).get_models()
    ]
    return {model._meta.label: repr(list(model._default_manager.order_by("pk").values())) for model in models}


def unread(channel: str) -> list[str]:
    rows = Unread.objects.filter(channel__name=channel).order_by("-at", "-pk")
    posts: list[Any] = [row.place.entry.jf2 for row in rows.select_related("place__entry")]
    return [
        post.get("name", "").removeprefix("Post ") or post["url"].rstrip("/").rpartition("/")[2]
        for post in posts
    ]


def test_channels_feeds_posts_and_people_come_along(ada: Reader, folder: Path) -> None:
    facts = run(folder)
    channels = {one.name: one for one in ada.channels.all()}
    names = ["News", "Home", "Slashes", "Slow", "Code", "Odd uid"]
    ordered = ada.channels.filter(is_notifications=False).order_by("position", "pk")
    assert [one.name for one in ordered] == names
    assert [channels[name].uid for name in names[:5]] == ["news_01", "homechannel", "slashes", "slow", "code"]
    rules: Any = {name: one.filters for name, one in channels.items()}
    assert rules["News"] == {"kinds": ["like"], "hide": ["/advert|spon(s|z)or/i"], "keep": []}
    assert rules["Slashes"]["hide"] == ["//ads//i"]
    assert rules["Slow"] is rules["Code"] is None
    assert {one.name for one in channels.values() if one.in_deck} == {"Home", "News"}
    follows = {row.feed.title: (row.channel.name, row.feed.status) for row in Follow.objects.all()}
    assert follows == {
        "River": ("Home", "active"),
        "The News": ("News", "active"),
        "Gone": ("News", "active"),
    }
    assert not Feed.objects.filter(for_letters=True).exists()
    assert unread("Home") == ["14", "11", "09", "left", "Only a title"]
    assert unread("News") == ["plain"] or unread("News") == []
    assert not_said(facts, TRAPS) == []
    assert "hidden-word" not in json.dumps(facts)


def test_posts_are_cleaned_anew(ada: Reader, folder: Path) -> None:
    run(folder)
    text = json.dumps(list(Entry.objects.values_list("jf2", "text")))
    for bad in ("javascript:", "script", "onerror", "onclick", "iframe", "eve@example.org", "<b>", "<i>"):
        assert bad not in text
    hostile = Entry.objects.get(jf2__name="Post 14")
    post: Any = hostile.jf2
    assert post["photo"] == ["https://river.example/14.jpg"]
    assert post["category"] == ["boats", "water"]
    assert post["author"]["name"] == "Eve"
    place = hostile.places.get()
    assert place.at.isoformat() == "2026-11-14T23:46:40+00:00"
    # From its id in MongoDB, as it has no other time of arrival than its date.
    assert Entry.objects.get(jf2__name="Post 09").seen_at.isoformat() == "2026-11-09T09:00:00+00:00"
    like: Any = Entry.objects.get(feed__title="The News", kind="like").jf2
    assert like["like-of"] == ["https://other.example/1"]


def test_mentions_are_notifications(ada: Reader, folder: Path) -> None:
    run(folder)
    assert sorted(Mention.objects.values_list("source", "due_at")) == [
        ("https://bob.example/likes/1", None),
        ("https://bob.example/replies/2", None),
    ]
    assert unread("Notifications") == ["1"]
    assert TimelineEntry.objects.filter(channel__name="Notifications").count() == 2
    assert set(Entry.objects.exclude(mention=None).values_list("kind", flat=True)) == {"like", "reply"}


def test_the_first_reading_brings_only_what_is_new(ada: Reader, folder: Path) -> None:
    run(folder)
    before = unread("Home")
    poll_due()
    place_due()
    assert unread("Home") == ["16", *before]
    there = Entry.objects.filter(places__channel__name="Home")
    urls: list[Any] = [post and post.get("url") for post in there.values_list("jf2", flat=True)]
    assert len(urls) == len(set(urls))
    # Forgotten there: it comes at its date, and is read. A stripped one isn't shown.
    forgotten = TimelineEntry.objects.get(entry__jf2__name="Post 04")
    assert forgotten.at.isoformat() == "2026-11-04T09:00:00+00:00"
    assert not Entry.objects.filter(jf2__name="Post 03").exists()
    assert "corrected" in Entry.objects.get(jf2__name="Post 12").text


def test_a_dry_run_changes_no_row_and_a_second_run_takes_nothing_again(ada: Reader, folder: Path) -> None:
    before = everything()
    facts = run(folder, "--reader", "ada", "--read")
    assert everything() == before
    assert lines(facts, "new") == ["post Post 16: of River"]
    run(folder)
    after = everything()
    facts = run(folder)
    assert everything() == after
    assert lines(facts, "taken") == []
    facts = run(folder, "--reader", "ada", "--dry-run")
    assert lines(facts, "taken") == []


def test_a_later_export_adds_what_is_missing_and_overwrites_nothing(ada: Reader, folder: Path) -> None:
    run(folder)
    Unread.objects.all().delete()
    prune_entries(now=utcnow() + timedelta(days=5_000))
    before, there = everything(), set(Entry.objects.values_list("pk", flat=True))
    items = folder / "microsub_items.json"
    text = items.read_text()
    new = [copied(text, "Post 12", 20, []), copied(text, "Post 13", 21, ["https://ada.example/"])]
    items.write_text(text + "".join([*new, copied(text, "Post left", 22, [])]))
    more = [
        "posts River: 2 more posts in “Home”.",
        "posts Home: 1 post of a feed that isn’t followed any more.",
    ]
    assert lines(run(folder, "--reader", "ada", "--dry-run"), "taken") == more
    assert everything() == before
    assert lines(run(folder), "taken") == more
    assert sorted(unread("Home")) == ["20", "22"]
    # Forgotten posts stay forgotten.
    assert set(Entry.objects.filter(jf2__isnull=True).values_list("pk", flat=True)) == there
    assert Entry.objects.count() == len(there) + 3
    once = everything()
    assert lines(run(folder), "taken") == []
    assert everything() == once
    Follow.objects.filter(feed__title="River").delete()
    items.write_text(items.read_text() + copied(text, "Post 12", 23, []))
    facts = run(folder)
    assert lines(facts, "taken") == []
    assert "feed River: It was imported before. It isn’t followed here any more." in lines(
        facts, "there already"
    )


def test_a_channel_and_a_feed_that_are_gone_there_are_named(ada: Reader, folder: Path) -> None:
    run(folder)
    for name, place in (("channels", -2), ("feeds", 0)):
        rows = (folder / f"microsub_{name}.json").read_text().splitlines(keepends=True)
        del rows[place]
        (folder / f"microsub_{name}.json").write_text("".join(rows))
    preview, facts = lines(run(folder, "--reader", "ada", "--dry-run"), "gone there"), run(folder)
    assert [line.partition(": ")[0] for line in preview] == ["channel Odd uid", "feed River in Home"]
    assert lines(facts, "gone there") == preview
    assert lines(run(folder, "--reader", "ada", "--orphans"), "gone there") == preview


def test_posts_that_the_first_export_lacked_come_later(ada: Reader, folder: Path) -> None:
    items = folder / "microsub_items.json"
    text = items.read_text()
    items.unlink()
    run(folder)
    poll_due()
    place_due()
    items.write_text(text)
    run(folder)
    counts = outcome()
    assert counts["places"] >= FIGURES["places"]
    urls: list[Any] = [row and row.get("url") for row in Entry.objects.values_list("jf2", flat=True)]
    assert len(set(filter(None, urls))) == len(list(filter(None, urls)))
    run(folder)
    assert outcome() == counts


def copied(text: str, name: str, number: int, read_by: list[str]) -> str:
    """Return the line of a post, as if it were another one."""
    row = next(row for row in map(json.loads, text.splitlines()) if row.get("name") == name)
    row |= {
        "_id": {"$oid": f"{number:024x}"},
        "name": f"Post {number}",
        "readBy": read_by,
        "uid": f"{number:024x}",
    }
    row |= {
        "url": f"https://river.example/{number}/",
        "source": {**row["source"], "originalId": f"tag:{number}"},
    }
    return f"{json.dumps(row)}\n"


@pytest.mark.parametrize("cut", range(6))
def test_a_run_that_is_cut_off_goes_on(
    ada: Reader, folder: Path, cut: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    steps = ("take_channel", "_feed", "mark_posts", "take_posts", "follow_taken", "take_mention")
    with monkeypatch.context() as patch:
        _cut_after(patch, steps[cut], Killed)
        with pytest.raises(Killed):
            run(folder)
    run(folder)
    assert outcome() == FIGURES
    assert not Feed.objects.filter(status="paused").exists()


def _cut_after(patch: pytest.MonkeyPatch, step: str, error: type[BaseException]) -> None:
    """Let the second call of a step fail after it has done its work."""
    modules = {"take_channel": readers, "take_mention": readers}
    holder = follows.FollowPart if step == "_feed" else modules.get(step, follows)
    done, calls = getattr(holder, step), count()

    def cut(*arguments: Any, **values: Any) -> Any:
        answer = done(*arguments, **values)
        if next(calls) == 1:
            raise error
        return answer

    patch.setattr(holder, step, cut)


def outcome() -> dict[str, int]:
    return {
        "follows": Follow.objects.count(),
        "unread": Unread.objects.count(),
        "places": TimelineEntry.objects.count(),
        "mentions": Mention.objects.count(),
        "mutes": Mute.objects.count(),
        "channels": Channel.objects.count(),
        "entries": Entry.objects.count(),
    }


def zipped(folder: Path, *, prefix: str = "dump/indiekit/") -> Path:
    place = folder.with_suffix(".zip")
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in folder.iterdir():
            archive.write(file, prefix + file.name)
    return place


def as_arrays(folder: Path) -> Path:
    for file in folder.glob("*.json"):
        file.write_text(f"[{','.join(file.read_text().splitlines())}]\n")
    return folder


def as_bson(folder: Path) -> Path:
    for file in folder.glob("*.json"):
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        octets = b"".join(map(bson, rows))
        file.unlink()
        file.with_suffix(".bson.gz").write_bytes(gzip.compress(octets))
        file.with_suffix(".metadata.json").write_text("{}")
    return folder


def as_archive(folder: Path) -> Path:
    """Return an archive of mongodump whose collections alternate."""
    place, blocks, names = folder.with_suffix(".archive"), [], []
    for file in sorted(folder.glob("*.json")):
        rows = [bson(json.loads(line)) for line in file.read_text().splitlines()]
        names.append(file.stem)
        blocks += [(file.stem, False, rows[::2]), (file.stem, False, rows[1::2])]
    blocks = [*blocks[::2], *blocks[1::2], *((name, True, []) for name in names)]
    place.write_bytes(mongodump(names, blocks))
    return place


def mongodump(names: list[str], blocks: list[tuple[str, bool, list[bytes]]]) -> bytes:
    """Return an archive of these collections; a block is its collection, whether it ends it, and rows."""
    start = [ARCHIVE, bson({"concurrent_collections": 4, "version": "0.1"})]
    start += [bson({"db": "indiekit", "collection": name, "metadata": "{}", "size": 1}) for name in names]
    body = [
        bson({"db": "indiekit", "collection": name, "EOF": is_last, "CRC": 0}) + b"".join(rows) + END
        for name, is_last, rows in blocks
    ]
    return b"".join([*start, END, *body])


def as_packed_archive(folder: Path) -> Path:
    place = as_archive(folder)
    place.write_bytes(gzip.compress(place.read_bytes()))
    return place


def bson(value: dict[str, Any]) -> bytes:
    body = b"".join(_element(name, one) for name, one in value.items())
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def _element(name: str, value: Any) -> bytes:
    key = name.encode() + b"\0"
    if isinstance(value, dict) and "$oid" in value:
        return b"\x07" + key + bytes.fromhex(value["$oid"])
    if isinstance(value, dict) and "$date" in value:
        given = value["$date"]
        at = int(given["$numberLong"]) if isinstance(given, dict) else _milliseconds(given)
        return b"\x09" + key + struct.pack("<q", at)
    if isinstance(value, dict):
        return b"\x03" + key + bson(value)
    if isinstance(value, list):
        return b"\x04" + key + bson({str(number): one for number, one in enumerate(value)})
    if isinstance(value, bool):
        return b"\x08" + key + bytes([value])
    if isinstance(value, int):
        return b"\x10" + key + struct.pack("<i", value)
    if value is None:
        return b"\x0a" + key
    text: bytes = value.encode() + b"\0"
    return b"\x02" + key + struct.pack("<i", len(text)) + text


def _milliseconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


@pytest.mark.parametrize("form", [zipped, as_arrays, as_bson, as_archive, as_packed_archive])
def test_every_form_of_an_export_is_read(ada: Reader, folder: Path, form: Callable[[Path], Path]) -> None:
    run(form(folder))
    assert outcome() == FIGURES


@pytest.mark.parametrize(
    ("octets", "says"),
    [
        (gzip.compress(b"a diary", mtime=0), "It isn’t an archive of mongodump"),
        (mongodump(["microsub_channels"], [("microsub_channels", True, [])]), "has no microsub_feeds"),
        (mongodump(["microsub_channels"], []), "broken after 0 documents"),
        (mongodump(["microsub_feeds"] * 2, []), "has microsub_feeds of two databases"),
        (gzip.compress(ARCHIVE + bytes(200_000_000), mtime=0), "broken after 0 documents"),
        (
            gzip.compress(ARCHIVE + bson({}) + END + bson({"collection": "x"}) * 200_000, mtime=0),
            "larger than 1 MB",
        ),
    ],
    ids=["no archive", "no feeds", "cut off", "two databases", "zeros", "large"],
)
def test_other_archives_are_refused(
    ada: Reader, tmp_path: Path, octets: bytes, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_OCTETS", 1024 * 1024)
    place = tmp_path / "dump"
    place.write_bytes(octets)
    with pytest.raises(CommandError, match=says):
        run(place)


def claims_gigabytes(octets: bytes) -> bytes:
    """Return a zip whose directory gives its last member 4 GB."""
    data = bytearray(octets)
    at = data.rfind(b"PK\1\2")
    data[at + 20 : at + 28] = struct.pack("<LL", 0xFFFFFFF0, 0xFFFFFFF0)
    return bytes(data)


@pytest.mark.parametrize(
    ("name", "body", "change", "says"),
    [
        ("../../microsub_items.json", b"", bytes, "paths outside of its folder"),
        ("/etc/microsub_items.json", b"", bytes, "paths outside of its folder"),
        ("microsub_items.json", b" " * 50_000_000, bytes, "larger than 1 MB"),
        ("microsub_items.json", b"{}", claims_gigabytes, "damaged"),
        ("microsub_items.json", b"{}", lambda octets: octets[:-30], "damaged"),
    ],
    ids=["a path up", "a path of the root", "a bomb", "4 GB", "cut off"],
)
def test_hostile_zips_are_refused_at_little_cost(
    ada: Reader,
    folder: Path,
    name: str,
    body: bytes,
    change: Callable[[bytes], bytes],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "MOST_OCTETS", 1024 * 1024)
    (folder / "microsub_items.json").unlink()
    place = zipped(folder)
    with zipfile.ZipFile(place, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, body)
    place.write_bytes(change(place.read_bytes()))
    with pytest.raises(CommandError, match=says):
        run(place)
    assert not Follow.objects.exists()


def test_several_people_are_told_apart(ada: Reader, folder: Path) -> None:
    file = folder / "microsub_channels.json"
    file.write_text(
        file.read_text().replace('"Slow","userId":"https://ada.', '"Slow","userId":"https://bob.')
    )
    with pytest.raises(CommandError, match=r"several people: https://ada\.example/, https://bob\."):
        run(folder)
    facts = run(folder, "--reader", "ada", "--user", "https://ada.example", "--orphans")
    assert "channel Slow: It belongs to https://bob.example/" in "\n".join(lines(facts, "not taken"))
    assert ada.channels.filter(name="Orphan").exists()
    assert not ada.channels.filter(name="Slow").exists()


@pytest.mark.parametrize("options", [("--dry-run",), ("--reader", "bob")])
def test_the_reader_must_be_named(ada: Reader, folder: Path, options: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match="Readers: ada"):
        run(folder, *options)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("{", "broken after 0 documents"),
        ('{"_id": 1}\n{"a":' + "[" * 100_000, "broken after 1 documents"),
        ("12", "broken after 0 documents"),
        ('{"_id": 1}{"_id": "\ud800', "broken"),
    ],
)
def test_broken_files_are_refused(ada: Reader, folder: Path, body: str, says: str) -> None:
    (folder / "microsub_items.json").write_bytes(body.encode("utf-8", "surrogatepass"))
    with pytest.raises(CommandError, match=f"microsub_items.json: .*{says}"):
        run(folder)


def test_a_folder_without_the_collections_says_how_to_export_them(ada: Reader, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="mongoexport --db=DATABASE --collection=microsub_channels"):
        run(tmp_path)


def test_links_out_of_the_folder_are_not_read(ada: Reader, folder: Path, tmp_path: Path) -> None:
    (folder / "microsub_feeds.json").rename(tmp_path / "feeds.json")
    (folder / "microsub_feeds.json").symlink_to(tmp_path / "feeds.json")
    with pytest.raises(CommandError, match="has no microsub_feeds"):
        run(folder)


def test_a_zip_is_uploaded_in_the_admin(ada: Reader, folder: Path, admin_client: Client) -> None:
    file = SimpleUploadedFile("export.zip", zipped(folder).read_bytes())
    given = {"program": "microsub", "file": file, "reader": "eve"}
    url = reverse("admin:feedletter_site_arrival_add")
    assert "There is no reader with this name." in admin_client.post(url, given).content.decode()
    file.seek(0)
    assert admin_client.post(url, {**given, "reader": "ada"}).status_code == 302
    work_off_arrivals(budget=timedelta(minutes=5))
    row = Arrival.objects.get()
    assert (row.state, row.trouble) == ("looked", "")
    assert not Follow.objects.exists()
    begin_taking(row, now=utcnow())
    work_off_arrivals(budget=timedelta(minutes=5))
    row.refresh_from_db()
    assert row.state == "done"
    assert outcome()["places"] == 13


def test_the_page_asks_whose_channels_to_import_only_if_there_are_several_people(
    ada: Reader, folder: Path, admin_client: Client
) -> None:
    file = folder / "microsub_channels.json"
    own = file.read_text()
    row = looked(admin_client, folder)
    assert (row.state, [each["option"] for each in row.questions]) == ("looked", ["orphans"])
    file.write_text("".join(line for line in own.splitlines(True) if '"Orphan"' not in line))
    row = looked(admin_client, folder)
    assert (row.state, row.questions) == ("looked", [])
    assert "Answer questions" not in page(admin_client, row)

    file.write_text(own.replace('"Slow","userId":"https://ada.', '"Slow","userId":"https://bob.'))
    row = looked(admin_client, folder)
    assert row.state == "asking"
    shown = page(admin_client, row)
    assert "Answer the questions first" in shown
    assert "Preview" not in shown
    assert "https://bob.example/" in act(admin_client, row, "answer")
    given = {"with-orphans": "yes", "with-user": "https://ada.example/", "confirmed": "1"}
    assert "This field is required" in act(admin_client, row, "answer", **{**given, "with-user": ""})
    assert "being read again" in act(admin_client, row, "answer", **given)
    work_off_arrivals(budget=timedelta(minutes=5))
    row.refresh_from_db()
    assert row.state == "looked"
    assert (row.options["user"], row.options["orphans"]) == ("https://ada.example/", True)
    assert "Import them, too" in page(admin_client, row)
    begin_taking(row, now=utcnow())
    work_off_arrivals(budget=timedelta(minutes=5))
    assert ada.channels.filter(name="Orphan").exists()
    assert not ada.channels.filter(name="Slow").exists()


def looked(client: Client, folder: Path) -> Arrival:
    file = SimpleUploadedFile("export.zip", zipped(folder).read_bytes())
    client.post(
        reverse("admin:feedletter_site_arrival_add"), {"program": "microsub", "file": file, "reader": "ada"}
    )
    work_off_arrivals(budget=timedelta(minutes=5))
    return Arrival.objects.latest("pk")


def test_two_readers_may_import_the_same_export(ada: Reader, folder: Path) -> None:
    add_reader(name="bob", now=utcnow())
    run(folder)
    run(folder, "--reader", "bob")
    counts = {name: 2 * number for name, number in FIGURES.items()}
    assert outcome() == {**counts, "entries": FIGURES["entries"] + 3}


def test_control_characters_are_left_out(ada: Reader, folder: Path) -> None:
    for file in folder.glob("*.json"):
        text = file.read_text()
        for name in ("River", "Post ", "Home", "Words of", "nothing", "like", "https://troll"):
            text = text.replace(f'"{name}', f'"\\u0000\\ud800{name}')
        file.write_text(text)
    run(folder)
    assert outcome()["places"] >= 11
    assert "\0" not in repr(everything())
