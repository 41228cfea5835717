"""Monday's state to look at, Friday's for real: nothing twice, nobody lost, and who left is named."""

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from common.clock import utcnow
from delivery.issues.pause import resume_newsletter
from delivery.models import Delivery, Issue, MailboxMessage
from feedletter_site.models import Origin as ImportedFrom
from feeds.models import Feed, Item
from migrate_from.rss2email import posts_of, read
from subscriptions.models import Destination, Subscribable, Subscription
from subscriptions.privacy.erase import erase
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.sign_up import sign_up
from tests.examples import NIGHTLY
from tests.servers.feed_server import FeedServer
from tests.site.migrate_from import test_rss2email as mail
from tests.site.migrate_from.feedletter_dump import NOW, dump, run, sent, site, start_all
from tests.site.migrate_from.test_cordfeeder import everything, rounds
from tests.site.migrate_from.test_rss2email import folder

__all__ = ["dump", "folder", "site"]
pytestmark = pytest.mark.django_db

# Before the time of the import here, as a copied file is.
FRIDAY = mail.RAN_AT + timedelta(days=4)
LATER = NOW + timedelta(hours=14)
SUBSCRIPTION = (
    '{number}\t{{"type": "Email", "version": 1, "addressPart": "{name}@example.org"}}\te-mail:{name}\t'
    "river\t{confirmed}\t2026-11-22 03:00:00\n"
)


def later(dump: Path, *changes: tuple[str, str]) -> Path:
    """Return the same database half a day later."""
    text = dump.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    start, end = text.index("COPY public.feed "), text.index("COPY public.flags")
    read = text[start:end].replace("\t2026-11-21 1", "\t2026-11-22 0")
    dump.write_text(text[:start] + read + text[end:])
    return dump


def line_of(dump: Path, start: str) -> str:
    return next(line for line in dump.read_text().splitlines(keepends=True) if line.startswith(start))


def cleared(dump: Path, guid: str) -> tuple[str, str]:
    line = line_of(dump, f"1\t{guid}\t")
    return line, line.replace("\tUnassigned\n", "\tCleared\n")


def river() -> dict[str, str]:
    rows = Subscription.objects.filter(subscribable__name="river")
    return dict(rows.values_list("destination__core", "status"))


@pytest.fixture
def monday(dump: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Import, and let our own workers find what the old program sends meanwhile."""
    run(dump)
    rounds(8, begin=NOW)
    monkeypatch.setattr("feedletter_site.management.commands.migrate_from.utcnow", lambda: LATER)
    return dump


def friday(monday: Path) -> Path:
    """Post 6 and 8 were sent; Bob left, Fay came, and the one who hadn't confirmed has."""
    new = SUBSCRIPTION.format(number=9_000_000_002, name="fay", confirmed="t")
    last = line_of(monday, "9000000001\t")
    waiting, eighth = line_of(monday, "14\t"), "https://blog.example.org/river/8/"
    known = line_of(monday, "1\thttps://blog.example.org/river/4/\t")
    return later(
        monday,
        cleared(monday, "https://blog.example.org/river/6/"),
        (known, known + known.replace("https://blog.example.org/river/4/", eighth)),
        (line_of(monday, "8\t"), ""),
        (last, last + new),
        (waiting, waiting.replace("\tf\t", "\tt\t")),
    )


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_feedletters_newer_state_sends_nothing_twice_and_loses_nobody(monday: Path) -> None:
    assert Issue.objects.filter(subscribable__name="river").exists()  # our workers found post 6
    facts = run(friday(monday))
    assert river()["fay@example.org"] == river()["new@example.org"] == "confirmed"
    assert river()["bob@example.com"] == "unsubscribed"
    gone = [(line["name"], line["words"]) for line in facts["lines"] if line["what"] == "gone there"]
    assert gone == [("bob@example.com of river", "Left feedletter, so unsubscribed here.")]
    start_all()
    rounds(6, begin=LATER)
    for day in range(1, 9):
        rounds(1, begin=LATER + timedelta(days=day))
    assert not [
        title
        for name, title, _ in sent()
        if name == "river" and title in ("Post 6, still changing", "Post 8")
    ]
    bridges = Delivery.objects.filter(issue__subscribable__name__in=("river-masto", "river-bsky"))
    assert bridges.exists()  # post 8 of feed 2, which that state doesn’t have


@NIGHTLY
def test_newsletters_that_the_first_release_imported_are_known(monday: Path) -> None:
    ImportedFrom.objects.filter(kind="newsletter").delete()
    run(friday(monday))
    assert Subscribable.objects.count() == 9
    assert river()["bob@example.com"] == "unsubscribed"


@NIGHTLY
def test_its_preview_says_the_same_and_changes_nothing(monday: Path) -> None:
    place = friday(monday)
    before = everything()
    preview = run(place, "--read")
    assert everything() == before
    new = sorted(line["name"] for line in preview["lines"] if line["what"] == "new")
    assert "Post 6, still changing" not in new
    facts = run(place)
    without_posts = [line for line in preview["lines"] if line["what"] != "new"]
    assert without_posts == facts["lines"]
    once = everything()
    again = run(place)
    assert everything() == once
    assert again["counts"]["gone there"] == again["counts"]["taken"] == 0


@pytest.mark.slow
def test_who_did_something_here_is_listed_and_stays_as_chosen_here(monday: Path) -> None:
    zoe, bob, carla = (Subscription.objects.get(upstream_id=number) for number in (3, 8, 11))
    Subscribable.objects.update(sign_up="open")
    sign_up(subscribables=[bob.subscribable], email="bob@example.com", name="", origin=Origin(), now=LATER)
    leave(subscription=zoe, now=LATER)
    erase(destination=Destination.objects.get(pk=carla.destination_id), now=LATER)
    facts = run(friday(monday))
    assert river()["bob@example.com"] == "confirmed"
    assert river()["zoe@example.org"] == "unsubscribed"
    assert "carla@xn--mnchen-3ya.example" not in river()
    assert "did something here" in str([line for line in facts["lines"] if line["what"] == "gone there"])
    assert "data was erased" in str([line for line in facts["lines"] if line["what"] == "not taken"])


@pytest.mark.slow
def test_an_older_state_ends_nobody(monday: Path, tmp_path: Path) -> None:
    older = tmp_path / "older.sql"
    older.write_text(monday.read_text())
    run(friday(monday))
    facts = run(older)
    assert river()["fay@example.org"] == "confirmed"
    assert "fay@example.org" in str([line for line in facts["lines"] if line["what"] == "gone there"])


@NIGHTLY
def test_feeds_and_newsletters_that_are_gone_there_are_named(monday: Path) -> None:
    facts = run(later(monday, (line_of(monday, "never-sent\t"), ""), (line_of(monday, "5\thttp"), "")))
    gone = [line["name"] for line in facts["lines"] if line["what"] == "gone there"]
    bare = Feed.objects.get(url__endswith="bare.xml")
    assert sorted(gone) == sorted([str(bare), "never-sent", "bare", "bare-fixed"])
    assert Feed.objects.count() == 4


def test_a_kept_message_that_was_sent_since_is_cancelled(dump: Path) -> None:
    run(dump, "--queued", "keep")
    to_bob = Delivery.objects.get(destination__core="bob@example.com", issue__subscribable__name="river")
    to_carla = Delivery.objects.get(issue=to_bob.issue_id, destination__core__startswith="carla")
    dump.write_text(dump.read_text().replace(line_of(dump, "101\t"), ""))
    run(dump)
    to_bob.refresh_from_db()
    to_carla.refresh_from_db()
    assert (to_bob.state, to_carla.state) == ("cancelled", "held")


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_rss2emails_newer_state_sends_nothing_twice(site: FeedServer, folder: Path) -> None:
    mail.serve(site, "later")
    mail.run(folder)
    mail.serve(site, "last")
    rounds(6)  # our workers find post 6
    assert Item.objects.filter(title="Post 6 & more").exists()
    config = folder / "rss2email.cfg"
    config.write_text(config.read_text().replace("team@example.org", "new@example.org"))
    data = json.loads((folder / "rss2email.json").read_text())
    for one, feed in zip(data["feeds"], read(folder, now=utcnow()).feeds, strict=True):
        name = feed.url.rpartition("/")[2].partition("?")[0]
        body = mail.moved(site, (mail.FILES / "feeds" / "last" / name).read_text()) if one["seen"] else ""
        keys: Any = feed.recognise
        keys = keys.__self__
        posts = posts_of(
            body.encode(), content_type="application/xml", url=feed.url, wants_html=keys.wants_html
        )
        assert one["name"] == feed.name
        one["seen"] |= {keys.key_of(post): {"hash": post["hash"]} for post in posts}
    (folder / "rss2email.json").write_text(json.dumps(data))
    os.utime(folder / "rss2email.json", (FRIDAY.timestamp(), FRIDAY.timestamp()))
    preview = mail.run(folder, "--read")
    assert preview["counts"]["new"] == 0
    facts = mail.run(folder)
    gone = [line["name"] for line in facts["lines"] if line["what"] == "gone there"]
    assert gone == ["team@example.org of with-ids"]
    people = Subscription.objects.filter(subscribable__name="with-ids")
    assert dict(people.values_list("destination__core", "status")) == {
        "team@example.org": "unsubscribed",
        "new@example.org": "confirmed",
    }
    for each in Subscribable.objects.all():
        resume_newsletter(subscribable_id=each.pk, now=utcnow())
    rounds(6)
    rounds(1, begin=utcnow() + timedelta(days=2))
    assert not MailboxMessage.objects.exists()


@NIGHTLY
@pytest.mark.django_db(transaction=True)
def test_an_older_file_of_rss2email_ends_nobody(site: FeedServer, folder: Path) -> None:
    mail.serve(site, "later")
    config, data = folder / "rss2email.cfg", folder / "rss2email.json"
    monday = config.read_text()
    config.write_text(monday.replace("team@example.org", "team@example.org, new@example.org"))
    os.utime(data, (FRIDAY.timestamp(), FRIDAY.timestamp()))
    mail.run(folder)
    config.write_text(monday)
    os.utime(data, (mail.RAN_AT.timestamp(), mail.RAN_AT.timestamp()))
    facts = mail.run(folder)
    assert Subscription.objects.get(destination__core="new@example.org").status == "confirmed"
    assert "new@example.org" in str([line for line in facts["lines"] if line["what"] == "gone there"])


def test_a_second_report_keeps_the_first(dump: Path, tmp_path: Path) -> None:
    file = tmp_path / "moved.csv"
    run(dump, "--report", str(file))
    first = file.read_text()
    facts = run(dump, "--report", str(file))
    assert file.read_text() == first
    assert "moved-2.csv" in facts["notes"][-1]
    assert "odd one" in (tmp_path / "moved-2.csv").read_text()
