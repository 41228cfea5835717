"""`migrate_from … --read` lists the posts that would be new, before anything is changed."""

import re
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from common.clock import utcnow
from feedletter_site.management.commands import migrate_from
from feedletter_site.migrate_from import take_over
from feeds.models import Item
from tests.chat.conftest import service, site
from tests.examples import NIGHTLY, some_now
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord_client import DiscordService
from tests.site.migrate_from.cordfeeder_database import OldFeed, write_database
from tests.site.migrate_from.test_cordfeeder import (
    DAY,
    OTHER_CHANNEL,
    OTHER_GUILD,
    C,
    G,
    everything,
    rounds,
    run,
    said_in,
    serve,
    servers,
    words,
)

__all__ = ["servers", "service", "site"]
NEEDS_APP = "chat"
pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)
CASES = (
    ("new ones and known ones", 2, 0),
    ("known by their links", 1, 0),
    ("a flood", 0, 15),
    pytest.param("ten at once", 10, 0, marks=NIGHTLY),
    ("in doubt", 1, 2),
    ("never read", 1, 0),
    ("nothing new", 0, 0),
)


def titles(facts: dict[str, Any], what: str) -> list[str]:
    return sorted(line["name"] for line in facts["lines"] if line["what"] == what)


def posted(service: DiscordService, channel: str) -> list[str]:
    """Return the titles of the posts there."""
    return sorted(re.findall(r"\[(Title of [^]]*)\]", said_in(service, channel).replace("\\", "")))


def held_posts() -> list[str]:
    return sorted(Item.objects.held().values_list("title", flat=True))


def case(kind: str, site: FeedServer, now: datetime) -> list[OldFeed]:
    """Return the feeds of two CordFeeder servers."""
    added, polled = now - 30 * DAY, now - 2 * HOUR
    posts: dict[str, datetime | None]
    sent: tuple[str, ...] = ()
    by_guid = True
    if kind == "new ones and known ones":
        posts = {"new-b": now - HOUR, "new-a": polled, "known-b": now - DAY, "known-a": now - 200 * DAY}
        sent = ("known-b",)
    elif kind == "known by their links":
        posts = {f"post-{number}": now - number * 8 * HOUR for number in range(4)}
        sent, by_guid = tuple(site.url(f"/post-{number}") for number in (1, 2, 3)), False
    elif kind == "a flood":
        posts = {f"flood-{number:02}": now - timedelta(minutes=number) for number in range(1, 16)}
    elif kind == "ten at once":
        posts = {f"ten-{number:02}": now - timedelta(minutes=number) for number in range(1, 11)}
        posts["known"], sent = now - DAY, ("known",)
    elif kind == "in doubt":
        posts = {"fresh": now - HOUR, "odd": now - 5 * DAY, "undated": None}
        sent = ("x",)
    elif kind == "never read":
        posts, polled = {"fresh": now - HOUR, "old": now - 40 * DAY}, None  # type: ignore[assignment]
    else:
        posts = {"all-b": now - DAY, "all-a": now - 2 * DAY}
        sent = tuple(posts)
    url = serve(site, "/feed.xml", posts, by_guid=by_guid)
    old = OldFeed(url, G, C, added, polled, sent=sent)
    return [old, OldFeed(url, int(OTHER_GUILD), int(OTHER_CHANNEL), added, polled, sent=sent)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "new", "held"), some_now(CASES, every=3))
def test_what_it_says_is_what_is_posted_then(
    servers: DiscordService, site: FeedServer, tmp_path: Path, kind: str, new: int, held: int
) -> None:
    place = write_database(tmp_path / "c.db", case(kind, site, utcnow()))
    before = everything()
    facts = run(place, "--dry-run", "--read")
    assert everything() == before
    assert {request.method for request in servers.requests} == {"GET"}
    assert (facts["counts"]["new"], facts["counts"]["asks first"], facts["counts"]["not read"]) == (
        new,
        held,
        0,
    )
    assert (len(titles(facts, "new")), len(titles(facts, "asks first"))) == (new, held)
    run(place)
    rounds(6)
    for channel in (str(C), OTHER_CHANNEL):
        assert posted(servers, channel) == titles(facts, "new")
    assert len(servers.messages) == 2 * new
    assert held_posts() == titles(facts, "asks first")


def shared(site: FeedServer, now: datetime, *sent: str, guild: int = G, channel: int = C) -> OldFeed:
    return OldFeed(site.url("/feed.xml"), guild, channel, now - 9 * DAY, now, sent=sent)


@pytest.mark.slow
def test_posts_that_wait_here_already_are_new_to_the_servers_that_lack_them(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    now = utcnow()
    serve(site, "/feed.xml", {"a": now - DAY})
    there = shared(site, now - HOUR, "a", guild=int(OTHER_GUILD), channel=int(OTHER_CHANNEL))
    run(write_database(tmp_path / "first.db", [there]))
    rounds(1)
    posts = {"c": now, "b": now - timedelta(minutes=9), "a": now - DAY}
    serve(site, "/feed.xml", posts)
    rounds(1, begin=now + timedelta(minutes=70))
    assert set(Item.objects.unassigned().values_list("guid", flat=True)) == {"b", "c"}
    serve(site, "/feed.xml", {"d": now + HOUR, **posts})
    place = write_database(tmp_path / "second.db", [shared(site, now, "a", "b")])
    facts = run(place, "--read")
    assert titles(facts, "new") == ["Title of c", "Title of d"]
    run(place)
    rounds(9, begin=now + timedelta(minutes=74))
    assert posted(servers, str(C)) == titles(facts, "new")
    assert titles(run(place, "--read"), "new") == []


def test_what_cannot_be_read_is_named_with_why(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    now = utcnow()
    site.serve("/gone.xml", b"", status=404)
    site.serve("/page.xml", b"<html><body>No feed</body></html>", headers={"Content-Type": "text/html"})
    read = (now - 3 * DAY, now - HOUR)
    feeds = [
        OldFeed(site.url(f"/{name}.xml"), G, C + number, *read)
        for number, name in enumerate(("gone", "page"))
    ]
    feeds.append(OldFeed("http://192.168.7.7/feed", G, C + 9, *read))
    facts = run(write_database(tmp_path / "c.db", feeds), "--read")
    why = words(facts, "not read")
    assert facts["counts"]["not read"] == 3
    assert "/gone.xml: " in why
    assert "404" in why
    assert "192.168.7.7" in why
    assert "that were not read are unknown" in " ".join(facts["notes"])


def test_few_titles_of_a_feed_are_shown_and_all_are_counted(
    servers: DiscordService, site: FeedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(take_over, "TITLES_OF_A_FEED", 3)
    place = write_database(tmp_path / "c.db", case("ten at once", site, utcnow()))
    report = tmp_path / "report.csv"
    facts = run(place, "--read", "--report", str(report))
    assert titles(facts, "new") == ["7 more posts", "Title of ten-01", "Title of ten-02", "Title of ten-03"]
    assert facts["counts"]["new"] == 10
    assert "new,posts,7 more posts," in report.read_text()


def test_reading_ends_in_time_and_says_what_it_left(
    servers: DiscordService, site: FeedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate_from, "READS_FOR", timedelta(0))
    monkeypatch.setitem(take_over.TOGETHER, take_over.Doing.READ, 1)
    now = utcnow()
    feeds = [
        OldFeed(serve(site, f"/{number}.xml", {f"p{number}": now}), G, C + number, now - DAY, now - HOUR)
        for number in range(3)
    ]
    facts = run(write_database(tmp_path / "c.db", feeds), "--read")
    assert titles(facts, "not read") == ["2 more feeds"]
    assert facts["counts"]["not read"] == 2


def test_only_with_the_word_are_feeds_read(servers: DiscordService, site: FeedServer, tmp_path: Path) -> None:
    place = write_database(tmp_path / "c.db", case("nothing new", site, utcnow()))
    facts = run(place, "--dry-run")
    assert "new" not in facts["counts"]
    assert site.requests == []
    out = StringIO()
    call_command("migrate_from", "cordfeeder", str(place), "--read", stdout=out)
    assert len(site.requests) == 1
    assert "The feeds were read: 0 posts would be new." in out.getvalue()
    assert "Nothing was changed" in out.getvalue()
