"""The whole move from CordFeeder by real processes, with kills: each message is posted once."""

import random
from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from common.clock import utcnow
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord import BOT_TOKEN, CHANNEL
from tests.servers.services.discord_client import APPLICATION, PUBLIC_KEY, DiscordService
from tests.site.migrate_from.acceptance import (
    ITEMS,
    ORIGINS,
    SEND,
    answers,
    installed,
    moved,
    moved_with_kills,
    not_said,
)
from tests.site.migrate_from.cordfeeder_database import OldFeed, write_database
from tests.site.migrate_from.test_cordfeeder import (
    DAY,
    OTHER_CHANNEL,
    OTHER_GUILD,
    THIRD_CHANNEL,
    C,
    G,
    serve,
)

NEEDS_APP = "chat"
pytestmark = pytest.mark.slow
OUTCOME = (
    "SELECT g.guild_id, g.number, g.channel_id, f.url, f.status FROM chat_guildfeed g"
    " JOIN feeds_feed f ON f.id = g.feed_id ORDER BY 1, 2",
    ITEMS,
    "SELECT count(*) FROM subscriptions_subscription WHERE status = 'confirmed'",
    ORIGINS,
)
TRAPS = (
    "1 post that another server got will not come here: b",
    "a user name and a password",
    "URL can’t be read",
    "Unknown Channel",
    "isn’t in this server",
    "without a usable id: 1",
)


def old_database(site: FeedServer, place: Path) -> Path:
    """Two servers share a feed, and one of them lacks a post; links are ids; many can't be taken."""
    now = utcnow()
    shared = serve(
        site,
        "/shared.xml",
        {"new": now - timedelta(minutes=20), "b": now - timedelta(hours=30), "a": now - timedelta(hours=40)},
    )
    by_link = serve(
        site,
        "/links.xml",
        {"new-link": now - timedelta(minutes=30), "old-link": now - 2 * DAY},
        by_guid=False,
    )
    seldom = serve(site, "/seldom.xml", {"forgotten": now - 200 * DAY, "undated": None})
    read = (now - 30 * DAY, now - timedelta(hours=3))
    long = (now - 300 * DAY, now - timedelta(hours=3))
    return write_database(
        place,
        [
            OldFeed(shared, G, C, *read, sent=("a", "b")),
            OldFeed(shared, int(OTHER_GUILD), int(OTHER_CHANNEL), *read, sent=("a",)),
            OldFeed(by_link, G, int(THIRD_CHANNEL), *read, sent=(site.url("/old-link"),)),
            OldFeed(seldom, G, C, *long, sent=("x", "")),
            OldFeed("https://ada:secret@blog.example/feed", G, C, *read),
            OldFeed("feed me", G, C, *read),
            OldFeed("https://blog.example/2", G, 999, *read),
            OldFeed("https://blog.example/3", G, int(OTHER_CHANNEL), *read),
        ],
    )


def test_a_move_with_kills_posts_everything_once(tmp_path: Path) -> None:
    with ExitStack() as stack:
        site, discord = stack.enter_context(FeedServer()), stack.enter_context(DiscordService())
        discord.channels |= {OTHER_CHANNEL: OTHER_GUILD, THIRD_CHANNEL: str(G)}
        given: dict[str, Any] = {
            "DISCORD_API_URL": discord.base,
            "DISCORD_APPLICATION_ID": APPLICATION,
            "DISCORD_PUBLIC_KEY": PUBLIC_KEY,
            "DISCORD_BOT_TOKEN": BOT_TOKEN,
        }
        whole, killed = (installed(stack, tmp_path / name, **given) for name in ("whole", "killed"))
        command = ("migrate_from", "cordfeeder", str(old_database(site, tmp_path / "cordfeeder.db")))
        preview, facts = moved(whole, command)
        new = sorted(line["name"] for line in preview["lines"] if line["what"] == "new")
        assert new == ["Title of new", "Title of new-link"]
        assert not_said(facts, TRAPS) == []
        assert "secret" not in str(facts)
        moved_with_kills(
            killed, command, OUTCOME, answers(whole.folder, OUTCOME), points=[random.randint(1, 3)]
        )
        assert not discord.messages
        killed.script(SEND.format(now=utcnow().isoformat(), days=2), timeout=300)
        posted = Counter(
            (each["channel_id"], str(each["content"]).replace("\\", "")) for each in discord.messages
        )
        titles = {
            (channel, text.partition("](")[0].rpartition("[")[2]): count
            for (channel, text), count in posted.items()
        }
        assert titles == {
            (CHANNEL, "Title of new"): 1,
            (OTHER_CHANNEL, "Title of new"): 1,
            (THIRD_CHANNEL, "Title of new-link"): 1,
        }
