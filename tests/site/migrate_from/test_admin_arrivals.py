"""Import from another program in the admin: upload, preview, one button, report; also after crashes."""

import csv
import io
import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from chat.models import GuildFeed
from common.clock import utcnow
from common.uploads import LEASE, WAITS_FOR, claim, unpacked
from feedletter_site.migrate_from import take_over
from feedletter_site.migrate_from.servers import AddressPart
from feedletter_site.migrate_from.take_over import work_off_arrivals
from feedletter_site.models import Arrival, ArrivalLine, ArrivalPiece, Origin
from tests.chat.conftest import service, site
from tests.examples import some_now
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord_client import DiscordService
from tests.site.migrate_from.cordfeeder_database import OldFeed, write_database
from tests.site.migrate_from.pages import act, page
from tests.site.migrate_from.test_cordfeeder import DAY, C, G, outcome, rounds, serve, servers, several
from tests.site.migrate_from.test_read_ahead import posted

__all__ = ["servers", "service", "site"]
NEEDS_APP = "chat"
pytestmark = pytest.mark.django_db
ADD = "/admin/feedletter_site/arrival/add/"
LONG = timedelta(minutes=5)


def choose(client: Client, place: Path, *, with_wal: bool = True) -> Any:
    given: dict[str, Any] = {"program": "cordfeeder"}
    given["file"] = SimpleUploadedFile("feeds.db", place.read_bytes())
    if with_wal:
        beside = place.with_name(f"{place.name}-wal")
        given["second"] = SimpleUploadedFile("feeds.db-wal", beside.read_bytes())
    return client.post(ADD, given)


def work(budget: timedelta = LONG) -> None:
    work_off_arrivals(budget=budget)


def looked(client: Client, place: Path) -> Arrival:
    choose(client, place)
    work()
    return Arrival.objects.get()


@pytest.mark.django_db(transaction=True)
def test_from_the_file_to_the_report(
    admin_client: Client, servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    now = utcnow()
    url = serve(site, "/feed.xml", {"new": now - timedelta(hours=1), "sent": now - DAY})
    read = (now - 9 * DAY, now - timedelta(hours=2))
    feeds = [OldFeed(url, G, C, *read, sent=("sent",)), OldFeed("feed me", G, C, *read, name="=1+1")]
    answer = choose(admin_client, write_database(tmp_path / "c.db", feeds))
    row = Arrival.objects.get()
    assert answer.url == reverse("admin:feedletter_site_arrival_change", args=[row.pk])
    shown = page(admin_client, row)
    assert f'data-address="{reverse("admin:feedletter_site_arrival_progress", args=[row.pk])}"' in shown
    assert "Import</button>" not in shown
    work()
    shown = page(admin_client, row)
    assert "data-address" not in shown
    for said in ("Nothing has changed yet", "Can’t be imported: 1", "To be imported: 2", "URL can’t be read"):
        assert said in shown
    assert not GuildFeed.objects.exists()
    assert {request.method for request in servers.requests} == {"GET"}
    assert not site.requests
    assert "are being read" in act(admin_client, row, "read")
    work()
    shown = page(admin_client, row)
    assert "New posts: 1" in shown
    assert "Title of new" in shown
    assert not GuildFeed.objects.exists()
    assert "The import has started" in act(admin_client, row, "run")
    work()
    row.refresh_from_db()
    assert (row.state, row.by, row.done, row.parts) == ("done", "admin", 1, 1)
    shown = page(admin_client, row)
    assert "Imported: 2" in shown
    assert "Import</button>" not in shown
    # A finished import keeps no pieces.
    assert not ArrivalPiece.objects.exists()
    rounds(6)
    assert posted(servers, str(C)) == ["Title of new"]
    answer = admin_client.get(reverse("admin:feedletter_site_arrival_report", args=[row.pk]))
    lines = list(csv.reader(io.StringIO(answer.getvalue().decode("utf-8-sig"), newline="")))
    assert lines[0] == ["what", "kind", "name", "words"]
    assert sorted(line[0] for line in lines[1:]) == ["not taken", "taken", "taken"]
    assert any("=1+1" in line[2] for line in lines)


@pytest.mark.django_db(transaction=True)
def test_what_stands_in_the_wal_file_counts_only_if_it_comes_along(
    admin_client: Client, servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    place = write_database(tmp_path / "c.db", several(site, utcnow()))
    choose(admin_client, place, with_wal=False)
    work()
    assert Arrival.objects.get().parts < 2
    Arrival.objects.all().delete()
    assert looked(admin_client, place).parts == 2


@pytest.mark.django_db
@pytest.mark.parametrize("content", [b"hello", b"SQLite format 3\0 and no more"])
def test_what_is_no_database_is_said_by_its_name_and_forgotten(
    admin_client: Client, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "c.db").write_bytes(content)
    choose(admin_client, tmp_path / "c.db", with_wal=False)
    work()
    row = Arrival.objects.get()
    assert row.state == "unusable"
    assert "“feeds.db”" in row.trouble
    assert tempfile.gettempdir() not in row.trouble
    assert row.trouble in unescape(page(admin_client, row))
    assert not ArrivalPiece.objects.exists()


def test_too_much_is_refused(admin_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("common.admin.uploads.MOST_UPLOADED_BYTES", 10)
    (tmp_path / "c.db").write_bytes(b"x" * 11)
    assert "migrate_from" in choose(admin_client, tmp_path / "c.db", with_wal=False).content.decode()
    assert "Choose the file." in admin_client.post(ADD, {"program": "cordfeeder"}).content.decode()
    assert not Arrival.objects.exists()


class Killed(BaseException):
    """The end of a process."""


def dies_at(monkeypatch: pytest.MonkeyPatch, place: Any, name: str, step: int) -> None:
    """Raise Killed after the n-th call of that function."""
    whole, calls = getattr(place, name), iter(range(1_000))

    def dying(*args: Any, **more: Any) -> Any:
        done = whole(*args, **more)
        if next(calls) == step:
            raise Killed
        return done

    monkeypatch.setattr(place, name, dying)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("begin", "place", "name"),
    some_now(
        [("", AddressPart, "preview"), ("read", AddressPart, "take_feed"), ("run", AddressPart, "take")]
    ),
)
@pytest.mark.parametrize("step", some_now([0, 1]))
def test_a_worker_that_dies_leaves_the_rest_to_the_next(
    admin_client: Client,
    servers: DiscordService,
    site: FeedServer,
    tmp_path: Path,
    begin: str,
    place: Any,
    name: str,
    step: int,
) -> None:
    database = write_database(tmp_path / "c.db", several(site, utcnow()))
    with pytest.MonkeyPatch.context() as patch:
        for doing in take_over.TOGETHER:
            patch.setitem(take_over.TOGETHER, doing, 1)
        choose(admin_client, database)
        row = Arrival.objects.get()
        if begin:
            work()
            act(admin_client, row, begin)
        dies_at(patch, place, name, step)
        with pytest.raises(Killed):
            work()
    row.refresh_from_db()
    assert row.done == step
    assert claim(Arrival, now=utcnow()) is None
    Arrival.objects.update(lease_until=utcnow() - timedelta(seconds=1))
    work()
    row.refresh_from_db()
    assert row.done == 2
    if begin != "run":
        assert row.state == "looked"
        act(admin_client, row, "run")
        work()
    lines = list(ArrivalLine.objects.values_list("name", "what"))
    assert len(lines) == len({name for name, _ in lines}) + 1
    assert GuildFeed.objects.count() == 3
    killed = outcome()
    assert not Origin.objects.filter(finished_at=None).exists()
    second = write_database(tmp_path / "again.db", several(site, utcnow()))
    Arrival.objects.all().delete()
    row = looked(admin_client, second)
    act(admin_client, row, "run")
    work()
    assert outcome() == killed


@pytest.mark.django_db(transaction=True)
def test_it_goes_on_where_the_time_of_a_pass_was_over(
    admin_client: Client, servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    row = looked(admin_client, write_database(tmp_path / "c.db", several(site, utcnow())))
    act(admin_client, row, "run")
    work(timedelta(0))
    row.refresh_from_db()
    assert (row.state, row.done, row.lease_token) == ("taking", 1, None)
    Arrival.objects.update(created_at=utcnow() - timedelta(days=3))
    assert "It begins in a moment." in page(admin_client, row)
    work(timedelta(0))
    row.refresh_from_db()
    assert (row.state, row.done) == ("done", 2)
    assert set(row.lines.values_list("what", flat=True)) == {"taken", "changed"}


@pytest.mark.django_db(transaction=True)
def test_where_discord_lets_nobody_in_it_says_so_and_tries_again(
    admin_client: Client, servers: DiscordService, site: FeedServer, tmp_path: Path, settings: Any
) -> None:
    row = looked(admin_client, write_database(tmp_path / "c.db", several(site, utcnow())))
    token, settings.DISCORD_BOT_TOKEN = settings.DISCORD_BOT_TOKEN, ""
    act(admin_client, row, "run")
    work()
    assert "DISCORD_BOT_TOKEN" in page(admin_client, row)
    settings.DISCORD_BOT_TOKEN = token
    Arrival.objects.update(lease_until=utcnow() - timedelta(seconds=1))
    work()
    row.refresh_from_db()
    assert (row.state, row.trouble) == ("done", "")


@pytest.mark.django_db(transaction=True)
def test_who_stops_it_keeps_what_was_taken_and_the_worker_ends(
    admin_client: Client,
    servers: DiscordService,
    site: FeedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = looked(admin_client, write_database(tmp_path / "c.db", several(site, utcnow())))
    assert "Nothing was imported" in act(admin_client, row, "end")
    act(admin_client, row, "run")
    whole: Callable[..., Any] = AddressPart.take

    def stopping(*args: Any, **more: Any) -> Any:
        said = whole(*args, **more)
        act(admin_client, row, "end", confirmed="1")
        return said

    monkeypatch.setattr(AddressPart, "take", stopping)
    work()
    row.refresh_from_db()
    assert row.state == "stopped"
    assert GuildFeed.objects.count() == 2
    assert not ArrivalPiece.objects.exists()


def test_files_that_nobody_takes_over_are_forgotten(admin_client: Client) -> None:
    now = utcnow()
    for state, created, ended in (
        ("looked", now - WAITS_FOR - DAY, None),
        ("looked", now, None),
        ("done", now - Arrival.KEPT_FOR, now - Arrival.KEPT_FOR - DAY),
        ("done", now - WAITS_FOR - DAY, now - DAY),
    ):
        Arrival.objects.create(
            source="cordfeeder", file_name="x", state=state, created_at=created, ended_at=ended
        )
    work()
    assert list(Arrival.objects.order_by("pk").values_list("state", flat=True)) == ["looked", "done"]


def test_what_a_killed_worker_left_on_the_disk_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    row = Arrival.keep({"": [b"a", b"b"]}, "looking", source="cordfeeder", name="x", by="", now=utcnow())
    old, newer = (tmp_path / f"{take_over.FOLDER}-{name}" for name in ("1-old", "2-newer"))
    for left in (old, newer):
        (left / "deep").mkdir(parents=True)
    os.utime(old, (0, 0))
    with unpacked(row, take_over.FOLDER) as place:
        assert place.read_bytes() == b"ab"
        assert place.parent.stat().st_mode & 0o077 == 0
        assert set(tmp_path.iterdir()) == {place.parent, newer}
    assert list(tmp_path.iterdir()) == [newer]


def test_the_page_says_when_no_worker_is_there(admin_client: Client, tmp_path: Path) -> None:
    row = Arrival.objects.create(source="cordfeeder", file_name="x", state="looking")
    assert "It begins in a moment." in page(admin_client, row)
    Arrival.objects.update(created_at=utcnow() - timedelta(minutes=5))
    assert "No worker has processed it" in page(admin_client, row)
    claimed = claim(Arrival, now=utcnow())
    assert claimed is not None
    assert "No worker has processed it" not in page(admin_client, row)
    Arrival.objects.update(lease_until=utcnow() - LEASE)
    assert "No worker has processed it" in page(admin_client, row)


def test_who_may_only_look_neither_uploads_nor_decides(client: Client, tmp_path: Path) -> None:
    user = User.objects.create_user("viewer", is_staff=True)
    user.user_permissions.add(*Permission.objects.filter(codename__startswith="view_"))
    client.force_login(user)
    (tmp_path / "c.db").write_bytes(b"x")
    assert choose(client, tmp_path / "c.db", with_wal=False).status_code == 403
    row = Arrival.objects.create(source="cordfeeder", file_name="x", state="looked")
    assert "Import</button>" not in page(client, row)
    for action in ("run", "read", "end"):
        act(client, row, action)
    assert Arrival.objects.get().state == "looked"
    assert ADD not in client.get("/admin/discord/").content.decode()
    user.user_permissions.clear()
    for name in ("progress", "report"):
        address = reverse(f"admin:feedletter_site_arrival_{name}", args=[row.pk])
        assert client.get(address).status_code == 403


@pytest.mark.parametrize(
    "address", ["/admin/discord/", "/admin/first-steps/", "/admin/feedletter_site/arrival/"]
)
def test_it_is_linked_where_an_admin_looks(admin_client: Client, address: str) -> None:
    assert ADD in admin_client.get(address).content.decode()


def test_worker_knows_no_source() -> None:
    assert "cordfeeder" not in Path(str(take_over.__file__)).read_text().lower()


def test_what_waited_long_for_a_person_begins_in_a_moment(admin_client: Client) -> None:
    old = utcnow() - timedelta(days=3)
    row = Arrival.objects.create(source="cordfeeder", file_name="x", state="looked", created_at=old)
    take_over.begin_reading(row, now=utcnow())
    assert "It begins in a moment." in page(admin_client, row)
    assert claim(Arrival, now=utcnow()) == row


def test_the_list_asks_no_more_for_many(admin_client: Client) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert admin_client.get(reverse("admin:feedletter_site_arrival_changelist")).status_code == 200
        return len(asked)

    def add(many: int) -> None:
        for _ in range(many):
            row = Arrival.objects.create(source="cordfeeder", file_name="x", state="done")
            row.lines.create(what="taken", kind="feed", name="y", count=1234)

    add(1)
    few = statements()
    add(9)
    assert statements() == few
    shown = admin_client.get(reverse("admin:feedletter_site_arrival_changelist")).content.decode()
    assert shown.count("to be imported: 1,234") == 10


@pytest.mark.django_db(transaction=True)
def test_a_database_whose_tables_are_views_without_end_is_refused(
    admin_client: Client, servers: DiscordService, tmp_path: Path
) -> None:
    place = tmp_path / "c.db"
    with closing(sqlite3.connect(place)) as connection:
        columns = "1 AS id, '' AS url, '' AS name, 1 AS channel_id, 1 AS guild_id, 1 AS added_by"
        connection.execute(f"CREATE TABLE feeds AS SELECT {columns}, '' AS created_at")
        connection.execute(
            "CREATE VIEW posted_items AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
            " SELECT 1 AS feed_id, x AS item_guid, '' AS posted_at, 1 AS message_id FROM n"
        )
    (tmp_path / "c.db-wal").touch()
    row = looked(admin_client, place)
    assert row.state == "unusable"
    assert "isn’t CordFeeder’s database" in row.trouble


def test_a_file_is_given_up_after_three_unexpected_errors(
    admin_client: Client,
    servers: DiscordService,
    site: FeedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")

    monkeypatch.setattr("feedletter_site.migrate_from.servers.CordFeeder.read", fail)
    row = looked(admin_client, write_database(tmp_path / "c.db", []))
    states = [row.state]
    for _ in range(3):
        Arrival.objects.update(lease_token=None, lease_until=None)
        work()
        row.refresh_from_db()
        states.append(row.state)
    assert states == ["looking", "looking", "unusable", "unusable"]
    assert row.trouble.startswith("Given up after 3 errors. UnicodeDecodeError")
    assert not list(Path(tempfile.gettempdir()).glob(f"feedletter-arrival-{row.pk}-*"))
