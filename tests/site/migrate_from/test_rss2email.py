"""Import from rss2email, from files that rss2email 3.14 wrote itself."""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from delivery.issues.pause import resume_newsletter
from delivery.models import Delivery, MailboxMessage
from feedletter_site.migrate_from import feeds
from feedletter_site.migrate_from.take_over import begin_taking, work_off_arrivals
from feedletter_site.models import Arrival
from feeds.models import Feed, Item
from subscriptions.models import Consent, Subscribable, Subscription
from tests.examples import NIGHTLY
from tests.servers.feed_server import FeedServer
from tests.site.migrate_from.test_cordfeeder import everything, rounds, words

pytestmark = pytest.mark.django_db(transaction=True)

FILES = Path(__file__).parents[2] / "fixtures" / "migrations" / "rss2email"
# Where the files were made.
OLD_SITE = "http://127.0.0.1:8991"
RAN_AT = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


@pytest.fixture
def site(loopback_allowed: None) -> Iterator[FeedServer]:
    with FeedServer() as server:
        yield server


def moved(site: FeedServer, text: str) -> str:
    return text.replace(OLD_SITE, site.url("/").rstrip("/"))


@pytest.fixture
def folder(site: FeedServer, tmp_path: Path) -> Path:
    """Return a folder with both files, as the last run left them."""
    for name in ("rss2email.cfg", "rss2email.json"):
        (tmp_path / name).write_text(moved(site, (FILES / name).read_text()))
    os.utime(tmp_path / "rss2email.json", (RAN_AT.timestamp(), RAN_AT.timestamp()))
    return tmp_path


def serve(site: FeedServer, which: str) -> None:
    for file in (FILES / "feeds" / which).iterdir():
        body = moved(site, file.read_text())
        for query in ("", "?by=link", "?asleep"):
            site.serve(f"/{file.name}{query}", body, headers={"Content-Type": "application/xml"})


def run(place: Path, *options: str) -> dict[str, Any]:
    out = StringIO()
    call_command("migrate_from", "rss2email", str(place), "--json", *options, stdout=out)
    facts: dict[str, Any] = json.loads(out.getvalue())
    return facts


def sent() -> list[tuple[str, str]]:
    """Return newsletter and subject of each email."""
    rows = Delivery.objects.exclude(issue=None).order_by("pk")
    return sorted(rows.values_list("issue__subscribable__name", "issue__title"))


@pytest.mark.slow
def test_exactly_the_posts_that_came_later_are_sent_to_those_who_had_it(
    site: FeedServer, folder: Path
) -> None:
    serve(site, "later")
    facts = run(folder)
    assert facts["counts"] == {"taken": 14, "changed": 2, "not taken": 0, "gone there": 0, "there already": 0}
    names = ["bare", "harbour", "never-read", "river", "river-links", "sleeping", "with-ids"]
    newsletters = list(Subscribable.objects.order_by("name"))
    assert [each.name for each in newsletters] == names
    assert all(each.sending_paused_at for each in newsletters)
    assert {(each.visibility, each.sign_up) for each in newsletters} == {("private", "closed")}
    rounds(2)
    assert MailboxMessage.objects.count() == 0  # before and while it is paused
    serve(site, "last")
    for each in newsletters:
        resume_newsletter(subscribable_id=each.pk, now=utcnow())
    rounds(6, begin=utcnow() + timedelta(hours=1))
    rounds(1, begin=utcnow() + timedelta(days=2))
    assert not Item.objects.held().exists()
    assert sent() == [
        ("bare", "Post 6 & more"),
        ("harbour", "Note 6"),
        ("river", "Post 6 & more"),
        ("river-links", "Post 6 & more"),
        ("with-ids", "Post 6 & more"),
    ]
    readers = dict(Subscription.objects.values_list("subscribable__name", "destination__core"))
    assert readers["with-ids"] == "team@example.org"
    assert {readers[name] for name in ("bare", "harbour", "river")} == {"me@example.org"}
    assert set(Consent.objects.values_list("act", flat=True)) == {"imported"}


@NIGHTLY
def test_a_feed_keeps_its_pace_sender_and_sleep(site: FeedServer, folder: Path) -> None:
    serve(site, "later")
    run(folder)
    by_name = {each.name: each for each in Subscribable.objects.all()}
    assert by_name["harbour"].arrangement == "daily"
    assert by_name["river"].arrangement == "each"
    assert by_name["river"].from_email == "River post <rss@example.org>"
    assert by_name["river"].title == "River post"
    statuses = {each.subscribables.get().name: each.status for each in Feed.objects.all()}
    assert statuses.pop("sleeping") == "paused"
    assert set(statuses.values()) == {"active"}


@pytest.mark.slow
def test_a_dry_run_changes_no_row_and_a_second_run_takes_nothing_again(
    site: FeedServer, folder: Path
) -> None:
    serve(site, "last")
    before = everything()
    facts = run(folder, "--read")
    assert everything() == before
    new = [line for line in facts["lines"] if line["what"] == "new"]
    assert sorted(line["name"] for line in new) == ["Note 6", *["Post 6 & more"] * 4]
    run(folder)
    once = everything()
    again = run(folder)
    assert everything() == once
    assert again["counts"] == {"taken": 0, "changed": 0, "not taken": 0, "gone there": 0, "there already": 7}


@pytest.mark.django_db
def test_posts_known_by_their_text_wait_for_a_person_if_the_feed_cannot_be_read(
    site: FeedServer, folder: Path
) -> None:
    facts = run(folder)
    assert "bare: Its posts were known by their text" in words(facts, "changed")
    serve(site, "last")
    rounds(3)
    held = Item.objects.held().values_list("feed__subscribables__name", flat=True)
    assert set(held) == {"bare"}
    assert not Delivery.objects.filter(issue__subscribable__name="bare").exists()


@pytest.mark.django_db
def test_the_report_names_what_is_lost(site: FeedServer, folder: Path) -> None:
    config = folder / "rss2email.cfg"
    config.write_text(
        config.read_text()
        + "\n[feed.nobody]\nurl = https://a.example/feed\nto =\n"
        + "[feed.odd]\nurl = file:///etc/passwd\nto = a@b.example\n"
    )
    facts = run(folder, "--dry-run")
    assert "reply-changes" in words(facts, "changed")
    assert "name-format" in words(facts, "changed")
    assert "sent it to nobody" in words(facts, "not taken")
    assert "not an http or https URL" in words(facts, "not taken")
    assert any("127.0.0.1:8992" in note for note in facts["notes"])
    assert "password" not in json.dumps(facts)


@NIGHTLY
def test_the_first_version_of_the_file_is_read_too(site: FeedServer, folder: Path) -> None:
    (folder / "rss2email.json").write_text(moved(site, (FILES / "rss2email-v1.json").read_text()))
    os.utime(folder / "rss2email.json", (RAN_AT.timestamp(), RAN_AT.timestamp()))
    serve(site, "last")
    facts = run(folder, "--read")
    new = [line["words"] for line in facts["lines"] if line["what"] == "new"]
    assert "of river" in new


@pytest.mark.slow
def test_a_run_that_is_cut_off_leaves_whole_feeds_and_the_next_goes_on(
    site: FeedServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(site, "last")
    calls = count()

    def cut_off(**_values: Any) -> None:
        if next(calls) == 2:
            raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(feeds, "pause_newsletter", cut_off)
        with pytest.raises(RuntimeError):
            run(folder)
    assert Feed.objects.count() == Subscribable.objects.count() == Subscription.objects.count() == 2
    facts = run(folder)
    assert facts["counts"]["there already"] == 2
    assert Feed.objects.count() == Subscribable.objects.count() == Subscription.objects.count() == 7


@NIGHTLY
def test_both_files_are_uploaded_in_the_admin(site: FeedServer, folder: Path, admin_client: Client) -> None:
    serve(site, "last")
    files = {
        key: SimpleUploadedFile(name, (folder / name).read_bytes())
        for key, name in (("file", "rss2email.json"), ("second", "rss2email.cfg"))
    }
    url = reverse("admin:feedletter_site_arrival_add")
    refused = admin_client.post(url, {"program": "rss2email", "file": files["file"]})
    assert "Choose the second file, too. rss2email.cfg" in refused.content.decode()
    files["file"].seek(0)
    admin_client.post(url, {"program": "rss2email", **files})
    row = Arrival.objects.get()
    work_off_arrivals(budget=timedelta(minutes=1))
    begin_taking(row, now=utcnow())
    work_off_arrivals(budget=timedelta(minutes=1))
    row.refresh_from_db()
    assert row.state == Arrival.State.DONE
    assert Subscribable.objects.count() == 7
    assert row.lines.filter(what="taken").count() == 14


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["feeds.dat", "feeds-hostile.dat"])
def test_a_pickle_is_refused_and_never_loaded(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "rss2email.json").write_bytes((FILES / name).read_bytes())
    with pytest.raises(CommandError, match="rss2email 3"):
        run(folder)
    assert not (folder / "PICKLE-WAS-LOADED").exists()


@pytest.mark.django_db
@pytest.mark.parametrize("body", ["[]", '{"version": 3, "feeds": []}', '{"version": 2}', "[" * 200_000])
def test_another_file_is_refused(folder: Path, body: str) -> None:
    (folder / "rss2email.json").write_text(body)
    with pytest.raises(CommandError, match="not rss2email's JSON file"):
        run(folder)


@pytest.mark.django_db
def test_both_files_are_needed(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"no .*rss2email\.json"):
        run(tmp_path)
