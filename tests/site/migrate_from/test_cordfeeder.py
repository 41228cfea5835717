"""Import from CordFeeder: nothing twice, nothing lost, nothing skipped without a note."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.utils.feedgenerator import Atom1Feed, Rss201rev2Feed

from chat.guilds.feeds import remove_feed
from chat.models import BotFeed, BotSettings, Guild, GuildFeed
from common.clock import utcnow
from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from feedletter_site.migrate_from import take_over
from feedletter_site.models import Origin
from feeds.items.held import release
from feeds.models import Feed, Item
from feeds.polling.poll import poll_due
from subscriptions.collections.assign import assign_final, assign_item
from tests.chat.conftest import service, site
from tests.delivery.ledger import Clock
from tests.examples import NIGHTLY
from tests.factories import ItemFactory
from tests.servers.api_server import Reply
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord import CHANNEL, GUILD
from tests.servers.services.discord_client import DiscordService
from tests.site.migrate_from.cordfeeder_database import OldFeed, write_database

__all__ = ["service", "site"]
NEEDS_APP = "chat"
pytestmark = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)
OTHER_GUILD, OTHER_CHANNEL, THIRD_CHANNEL = "701", "1200000000000000071", "1200000000000000072"
G, C = int(GUILD), int(CHANNEL)


def serve(site: FeedServer, path: str, posts: Mapping[str, datetime | None], *, by_guid: bool = True) -> str:
    """Serve a feed of these posts (guid → date), newest first."""
    feed = Rss201rev2Feed("Bees", site.url("/"), "About bees")
    for guid, date in posts.items():
        feed.add_item(f"Title of {guid}", site.url(f"/{guid}"), "Text.", unique_id=guid, pubdate=date)
    body = feed.writeString("utf-8")
    if not by_guid:
        for guid in posts:
            body = body.replace(f"<guid>{guid}</guid>", "")
    return site.serve(path, body, headers={"Content-Type": "application/rss+xml"})


def run(place: Path, *options: str) -> dict[str, Any]:
    out = StringIO()
    call_command("migrate_from", "cordfeeder", str(place), "--json", *options, stdout=out)
    facts: dict[str, Any] = json.loads(out.getvalue())
    return facts


def words(facts: dict[str, Any], what: str) -> str:
    return "\n".join(f"{line['name']}: {line['words']}" for line in facts["lines"] if line["what"] == what)


def rounds(count: int, *, begin: datetime | None = None) -> None:
    """Run all stages once every ten minutes."""
    now = begin or utcnow()
    for _ in range(count):
        clock = Clock(now)
        poll_due(clock=clock)
        assign_final(clock=clock)
        complete_due(clock=clock)
        for _ in range(8):
            send_due(clock=clock)
            clock.now += timedelta(seconds=3)
        now += timedelta(minutes=10)


def said_in(service: DiscordService, channel: str = CHANNEL) -> str:
    return "\n".join(str(one["content"]) for one in service.messages if one["channel_id"] == channel)


def everything() -> dict[str, Any]:
    """Return all rows of our apps. Secrets never compare equal, so rows are compared by their repr."""
    ours = ("feeds", "subscriptions", "delivery", "chat", "feedletter_site")
    models = [model for app in ours for model in apps.get_app_config(app).get_models()]
    return {model._meta.label: repr(list(model._default_manager.order_by("pk").values())) for model in models}


@pytest.fixture
def servers(service: DiscordService) -> DiscordService:
    service.channels |= {OTHER_CHANNEL: OTHER_GUILD, THIRD_CHANNEL: GUILD}
    return service


def test_a_server_goes_on_without_a_repeat_and_nothing_new_is_lost(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    now = utcnow()
    url = serve(
        site,
        "/feed.xml",
        {
            "new-2": now - timedelta(minutes=20),
            "new-1": now - timedelta(hours=2),
            "sent-2": now - DAY,
            "sent-1": now - 5 * DAY,
            "there": now - 40 * DAY,
            "forgotten": now - 200 * DAY,
        },
    )
    old = OldFeed(
        url, G, C, now - 30 * DAY, now - timedelta(hours=3), sent=("sent-1", "sent-2"), there=("there",)
    )
    place = write_database(tmp_path / "cordfeeder.db", [old])
    facts = run(place)
    assert facts["counts"] == {"taken": 2, "changed": 0, "not taken": 0, "gone there": 0, "there already": 0}
    one = GuildFeed.objects.get()
    assert (one.guild_id, one.channel_id, one.number, one.added_by) == (G, C, 1, 42)
    assert one.title == "Bees"
    assert one.subscribable.options == {"style": "compact"}
    rounds(6)
    assert [name for name in ("new-1", "new-2") if f"Title of {name}" in said(servers)] == ["new-1", "new-2"]
    assert len(servers.messages) == 2
    assert not Item.objects.held().exists()


def said(service: DiscordService) -> str:
    return said_in(service).replace("\\", "")


def test_posts_without_an_id_are_known_by_their_links(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    now = utcnow()
    posts = {name: now - (number + 1) * timedelta(hours=8) for number, name in enumerate("cba")}
    url = serve(site, "/feed.xml", posts, by_guid=False)
    sent = tuple(site.url(f"/{name}") for name in "abc")
    place = write_database(
        tmp_path / "c.db", [OldFeed(url, G, C, now - 9 * DAY, now - timedelta(hours=1), sent=sent)]
    )
    run(place)
    rounds(6)
    assert servers.messages == []
    assert not Item.objects.held().exists()


def test_a_feed_of_ids_that_are_addresses_is_known_too(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    now = utcnow()
    feed = Atom1Feed("Bees", site.url("/"), "About bees")
    for number in (3, 2, 1):
        at = now - timedelta(hours=10 * (4 - number))
        feed.add_item(
            f"P{number}", site.url(f"/{number}"), "Text", unique_id=site.url(f"/{number}"), updateddate=at
        )
    url = site.serve("/atom.xml", feed.writeString("utf-8"), headers={"Content-Type": "application/atom+xml"})
    sent = tuple(site.url(f"/{number}") for number in (1, 2, 3))
    place = write_database(
        tmp_path / "c.db", [OldFeed(url, G, C, now - 9 * DAY, now - timedelta(hours=1), sent=sent)]
    )
    run(place)
    rounds(6)
    assert servers.messages == []


@pytest.mark.slow
def test_what_cordfeeder_may_have_posted_and_forgotten_is_asked_about(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    """Undated posts say nothing.

    A post dated before CordFeeder's last look that it does not know was skipped, or has another id here.
    """
    now = utcnow()
    url = serve(site, "/feed.xml", {"new": now - timedelta(hours=1), "odd": now - 5 * DAY, "undated": None})
    place = write_database(
        tmp_path / "c.db", [OldFeed(url, G, C, now - 300 * DAY, now - timedelta(hours=2), sent=("x",))]
    )
    run(place)
    rounds(6)
    assert "Title of new" in said(servers)
    assert len(servers.messages) == 1
    assert set(Item.objects.held().values_list("guid", flat=True)) == {"odd", "undated"}
    release(now=utcnow(), feed_ids=[Feed.objects.get().pk])
    rounds(6, begin=utcnow() + timedelta(hours=3))
    assert len(servers.messages) == 3


@pytest.mark.slow
def test_a_blog_that_seldom_posts_is_no_flood(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    """CordFeeder forgets after 90 days: it knows none of the twenty posts any more."""
    now = utcnow()
    posts: dict[str, datetime | None] = {"new": now - timedelta(hours=1)}
    posts |= {f"old-{number}": now - (100 + number) * DAY for number in range(20)}
    url = serve(site, "/feed.xml", posts)
    place = write_database(tmp_path / "c.db", [OldFeed(url, G, C, now - 400 * DAY, now - timedelta(hours=2))])
    run(place)
    rounds(6)
    assert "Title of new" in said(servers)
    assert len(servers.messages) == 1
    assert not Item.objects.held().exists()


@pytest.mark.slow
def test_a_feed_that_was_never_read_begins_at_its_adding(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    now = utcnow()
    url = serve(site, "/feed.xml", {"new": now - timedelta(hours=1), "old": now - 2 * DAY})
    place = write_database(tmp_path / "c.db", [OldFeed(url, G, C, now - DAY, None)])
    run(place)
    rounds(6)
    assert "Title of new" in said(servers)
    assert len(servers.messages) == 1


def several(site: FeedServer, now: datetime) -> list[OldFeed]:
    url = serve(site, "/feed.xml", {"b": now - timedelta(hours=30), "a": now - timedelta(hours=40)})
    other = serve(site, "/other.xml", {"x": now - timedelta(hours=40)})
    added, polled = now - 20 * DAY, now - timedelta(hours=1)
    return [
        OldFeed(url, G, C, added, polled, sent=("a", "b"), number=7),
        OldFeed(url, int(OTHER_GUILD), int(OTHER_CHANNEL), added, polled, sent=("a",), number=9),
        OldFeed(other, G, int(THIRD_CHANNEL), added, polled, name=None, sent=("x",), number=12),
    ]


@pytest.mark.slow
def test_servers_share_a_feed_and_keep_their_numbers(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    place = write_database(tmp_path / "c.db", several(site, utcnow()))
    facts = run(place)
    assert Feed.objects.count() == BotFeed.objects.count() == 2
    numbers = GuildFeed.objects.order_by("pk").values_list("guild_id", "number", "channel_id")
    assert list(numbers) == [(G, 7, C), (701, 9, int(OTHER_CHANNEL)), (G, 12, int(THIRD_CHANNEL))]
    assert Guild.objects.get(pk=G).next_number == 13
    assert "1 post that another server got will not come here: b" in words(facts, "changed")
    rounds(4)
    assert servers.messages == []


@pytest.mark.slow
def test_what_waits_here_for_other_servers_does_not_come_twice_in_the_one_that_had_it(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    """One server has our bot and the feed; the other comes from CordFeeder with its newest post."""
    now = utcnow()
    url = serve(site, "/feed.xml", {"a": now - DAY})
    ours = OldFeed(url, int(OTHER_GUILD), int(OTHER_CHANNEL), now - 9 * DAY, now - timedelta(hours=1))
    run(write_database(tmp_path / "first.db", [OldFeed(**{**vars(ours), "sent": ("a",)})]))
    rounds(1)
    serve(site, "/feed.xml", {"b": now, "a": now - DAY})
    rounds(1, begin=now + timedelta(minutes=70))
    assert Item.objects.get(guid="b").state == "unassigned"
    theirs = OldFeed(url, G, C, now - 9 * DAY, now, sent=("a", "b"))
    run(write_database(tmp_path / "second.db", [theirs]))
    serve(site, "/feed.xml", {"c": now + timedelta(hours=1), "b": now, "a": now - DAY})
    rounds(9, begin=now + timedelta(minutes=74))
    assert [name for name in "abc" if f"Title of {name}" in said(servers)] == ["c"]
    there = said_in(servers, OTHER_CHANNEL)
    assert [name for name in "abc" if f"Title of {name}" in there] == ["b", "c"]


def test_twice_is_once(servers: DiscordService, site: FeedServer, tmp_path: Path) -> None:
    place = write_database(tmp_path / "c.db", several(site, utcnow()))
    run(place)
    before = everything()
    facts = run(place)
    assert everything() == before
    assert facts["counts"]["there already"] == 3
    assert "It has the number 7." in words(facts, "there already")


def test_a_dry_run_changes_nothing_and_says_the_same(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    place = write_database(tmp_path / "c.db", several(site, utcnow()))
    source = {file.name: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith("-shm")}
    before = everything()
    foreseen = run(place, "--dry-run")
    assert everything() == before
    assert {request.method for request in servers.requests} == {"GET"}
    done = run(place)
    for what in ("server's feed", "posts"):
        names = [
            [line["name"] for line in facts["lines"] if line["kind"] == what] for facts in (foreseen, done)
        ]
        assert names[0] == names[1]
    assert source == {
        file.name: file.read_bytes() for file in tmp_path.iterdir() if not file.name.endswith("-shm")
    }


def test_a_second_run_adds_what_is_missing_and_overwrites_nothing(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    now = utcnow()
    feeds = several(site, now)
    place = write_database(tmp_path / "c.db", feeds[:1])
    run(place)
    one = GuildFeed.objects.get()
    one.subscribable.options = {"style": "text"}
    one.subscribable.save()
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.execute("UPDATE feeds SET channel_id = ?", (int(THIRD_CHANNEL),))
        connection.execute("INSERT INTO posted_items VALUES (NULL, 7, 'c', ?, 5)", (now.isoformat(),))
    write_database(place, feeds[1:])
    facts = run(place)
    assert f"here it stays in {C}" in words(facts, "there already")
    assert GuildFeed.objects.count() == 3
    one.refresh_from_db()
    assert one.channel_id == C
    assert one.subscribable.options == {"style": "text"}
    assert Item.objects.filter(guid="c", state="cleared").count() == 1
    remove_feed(one, now=now)
    assert "removed here" in words(run(place), "there already")
    assert GuildFeed.objects.present().count() == 2


def test_a_newer_state_keeps_back_what_it_posted_and_names_what_it_dropped(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    now = utcnow()
    place = write_database(tmp_path / "c.db", several(site, now))
    run(place)
    dropped = GuildFeed.objects.latest("pk")
    one = GuildFeed.objects.get(number=7)
    item = ItemFactory(feed=one.feed, guid="meanwhile", final_at=now)
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.execute("INSERT INTO posted_items VALUES (NULL, 7, 'meanwhile', ?, 5)", (now.isoformat(),))
        connection.execute("DELETE FROM feeds WHERE id = (SELECT max(id) FROM feeds)")
    preview = run(place, "--dry-run")
    facts = run(place)
    assert words(preview, "gone there") == words(facts, "gone there")
    assert [line["name"] for line in facts["lines"] if line["what"] == "gone there"] == [str(dropped)]
    assert GuildFeed.objects.present().filter(pk=dropped.pk).exists()
    assert assign_item(item_id=item.pk, now=now)
    out = item.assignments.get(assignable__subscribable=one.subscribable)
    assert out.left_out_at


def test_a_channel_that_discord_does_not_know_is_in_the_preview(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    lost = 1_299_999_999_999_999_999
    place = write_database(
        tmp_path / "c.db", [OldFeed(serve(site, "/feed.xml", {}), G, lost, utcnow(), None)]
    )
    assert f"nothing in channel {lost}" in words(run(place, "--dry-run"), "not taken")


def test_the_older_form_of_the_database(servers: DiscordService, site: FeedServer, tmp_path: Path) -> None:
    place = write_database(tmp_path / "c.db", several(site, utcnow()), is_old=True)
    run(place)
    assert GuildFeed.objects.count() == 3
    assert Feed.objects.filter(read_elsewhere_until__isnull=False).count() == 2


def test_what_cannot_be_taken_is_named_with_why(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    now = utcnow()
    url = serve(site, "/feed.xml", {})
    BotSettings.objects.create(pk=1, denied_hosts="denied.example", feeds_per_guild=1)
    Guild.objects.create(pk=702, banned_at=now)
    common = (now - 3 * DAY, now - timedelta(hours=1))
    feeds = [
        OldFeed(url, G, C, *common, name="Good"),
        OldFeed(f"{url}/", G, C, *common, name="Same"),
        OldFeed("https://ada:secret@blog.example/feed", G, C, *common, name="Password"),
        OldFeed("feed me", G, C, *common, name="Nonsense"),
        OldFeed("https://denied.example/feed", G, C, *common, name="Denied"),
        OldFeed("https://blog.example/1", 702, C, *common, name="Banned"),
        OldFeed("https://blog.example/2", G, 999, *common, name="Gone"),
        OldFeed("https://blog.example/3", G, int(OTHER_CHANNEL), *common, name="Elsewhere"),
        OldFeed("https://blog.example/4", "x", C, *common, name="Odd"),
        OldFeed("https://blog.example/5", G, C, "yesterday", None, name="Timeless"),  # type: ignore[arg-type]
        OldFeed("https://blog.example/6", G, C, *common, name="Idless", sent=("", "\x00", "fine")),
    ]
    place = write_database(tmp_path / "c.db", feeds)
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.execute("UPDATE feeds SET created_at = 'yesterday' WHERE name = 'Timeless'")
    facts = run(place, "--report", str(tmp_path / "report.csv"))
    why = words(facts, "not taken")
    for name, reason in {
        "Same": "Another URL of the same feed",
        "Password": "a user name and a password",
        "Nonsense": "URL can’t be read",
        "Denied": "settings block its host",
        "Banned": "Lift the ban",
        "Gone": "Unknown Channel",
        "Elsewhere": "isn’t in this server",
        "Odd": "isn’t a valid id",
        "Timeless": "can’t be read",
        "Idless": "without a usable id: 2",
    }.items():
        (line,) = (line for line in why.splitlines() if name in line)
        assert reason in line
    assert "secret" not in json.dumps(facts)
    assert list(GuildFeed.objects.values_list("subscribable__title", flat=True)) == ["Good", "Idless"]
    assert Guild.objects.get(pk=G).feed_limit == 2
    assert "Unknown Channel" in (tmp_path / "report.csv").read_text()


def test_a_number_that_is_not_free_changes(servers: DiscordService, site: FeedServer, tmp_path: Path) -> None:
    now = utcnow()
    feeds = several(site, now)
    run(write_database(tmp_path / "c.db", feeds[:1]))
    other = OldFeed("https://blog.example/", G, C, now - DAY, None, number=7)
    facts = run(write_database(tmp_path / "d.db", [other]))
    assert "Its number was 7, which another feed of the server has: now 8." in words(facts, "changed")


def test_where_discord_cannot_be_asked_the_run_ends_and_goes_on_later(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    place = write_database(tmp_path / "c.db", several(site, utcnow()))
    usual = servers.usual
    with pytest.MonkeyPatch.context() as patch:
        ill = f"/channels/{OTHER_CHANNEL}"
        patch.setattr(servers, "usual", lambda asked: Reply(503) if ill in asked.place else usual(asked))
        with pytest.raises(CommandError, match=f"Discord could not be asked about channel {OTHER_CHANNEL}"):
            run(place)
    assert not GuildFeed.objects.exists()
    run(place)
    assert GuildFeed.objects.count() == 3


def test_without_a_token_nothing_begins(servers: DiscordService, settings: Any, tmp_path: Path) -> None:
    settings.DISCORD_BOT_TOKEN = ""
    place = write_database(tmp_path / "c.db", [OldFeed("https://a.example/", G, C, utcnow(), None)])
    with pytest.raises(CommandError, match="DISCORD_BOT_TOKEN"):
        run(place)
    assert run(place, "--dry-run")["counts"]["taken"] == 2


@pytest.mark.django_db
@pytest.mark.parametrize("content", [None, b"", b"SQLite format 3\0 and no more", b"hello" * 99])
def test_what_is_no_database_is_refused(content: bytes | None, tmp_path: Path) -> None:
    place = tmp_path / "c.db"
    if content is not None:
        place.write_bytes(content)
    with pytest.raises(CommandError, match=r"DATABASE_PATH|CordFeeder"):
        run(place)


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "c.db")) as connection:
        connection.execute("CREATE TABLE feeds (id INTEGER, url TEXT)")
        connection.execute("CREATE TABLE posted_items (feed_id, item_guid, posted_at, message_id)")
    with pytest.raises(CommandError, match="isn’t CordFeeder’s database"):
        run(tmp_path / "c.db")


class Killed(BaseException):
    pass


def crashes_at(monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Raise before the n-th step: the end of a transaction, or a request to Discord."""
    from django.db import transaction

    steps, real = iter(range(10_000)), transaction.Atomic.__exit__

    def dying(self: Any, kind: Any, error: Any, trace: Any) -> Any:
        if kind is None and next(steps) == step:
            real(self, Killed, Killed(), None)
            raise Killed
        return real(self, kind, error, trace)

    monkeypatch.setattr(transaction.Atomic, "__exit__", dying)


def outcome() -> Any:
    """Return the result without keys and times."""
    feeds = [(one.guild_id, one.number, one.channel_id, one.feed.url, str(one)) for one in of_servers()]
    posts = sorted(Item.objects.values_list("feed__url", "guid", "state"))
    states = sorted(Feed.objects.values_list("url", "status", "bot_feed__unused_since"))
    return (
        sorted(feeds),
        posts,
        states,
        Origin.objects.filter(finished_at=None).count(),
        Origin.objects.count(),
    )


def of_servers() -> Iterator[GuildFeed]:
    yield from GuildFeed.objects.select_related("feed", "subscribable")


@NIGHTLY
def test_cut_off_anywhere_the_next_run_ends_the_same(
    servers: DiscordService, site: FeedServer, tmp_path: Path
) -> None:
    place = write_database(tmp_path / "c.db", several(site, utcnow()))
    step = 0
    outcomes = set()
    while True:
        with pytest.MonkeyPatch.context() as patch:
            crashes_at(patch, step)
            try:
                run(place)
                is_over = True
            except Killed:
                is_over = False
        # No feed is polled, so that nothing is lost, before all servers have it.
        for feed in Feed.objects.filter(status="active"):
            wanted = 2 if feed.url.endswith("/feed.xml") else 1
            assert feed.guild_feeds.count() == wanted
        run(place)
        outcomes.add(repr(outcome()))
        if is_over:
            break
        clean()
        step += 3
    assert step > 20
    assert len(outcomes) == 1


def clean() -> None:
    Origin.objects.all().delete()
    for one in of_servers():
        one.subscribable.delete()
    Guild.objects.all().delete()
    Feed.objects.all().delete()


@pytest.mark.django_db
def test_frame_knows_no_source() -> None:
    assert "cordfeeder" not in Path(take_over.__file__).read_text().lower()
