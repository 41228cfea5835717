"""SIGKILL at any moment of `migrate_from`, and a second run: the result is the same."""

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

from common.clock import utcnow
from tests.examples import NIGHTLY
from tests.load.installation import sqlite_installation
from tests.servers.services.discord import BOT_TOKEN
from tests.servers.services.discord_client import APPLICATION, PUBLIC_KEY, DiscordService
from tests.site.migrate_from.acceptance import answers, wait_for_rows
from tests.site.migrate_from.cordfeeder_database import OldFeed, write_database

pytestmark = NIGHTLY
ADDRESSES, SERVERS, KILLS = 6, 5, 6
OUTCOME = (
    "SELECT g.guild_id, g.number, g.channel_id, f.url, f.status FROM chat_guildfeed g"
    " JOIN feeds_feed f ON f.id = g.feed_id ORDER BY 1, 2",
    "SELECT f.url, i.guid, i.state FROM feeds_item i JOIN feeds_feed f ON f.id = i.feed_id ORDER BY 1, 2",
    "SELECT count(*), count(finished_at) FROM feedletter_site_origin",
    "SELECT count(*) FROM subscriptions_subscription WHERE status = 'confirmed'",
    "SELECT count(*) FROM subscriptions_subscribable",
)


def many(discord: DiscordService) -> list[OldFeed]:
    now, found = utcnow(), []
    for server in range(SERVERS):
        guild, channel = 800 + server, 1_500_000_000_000_000_000 + server
        discord.channels[str(channel)] = str(guild)
        for number in range(ADDRESSES):
            sent = tuple(f"post-{number}-{post}" for post in range(300))
            url = f"https://blog-{number}.example/feed"
            read = (now - timedelta(days=9), now - timedelta(hours=1))
            found.append(OldFeed(url, guild, channel, *read, sent=sent))
    return found


def test_the_next_run_ends_the_same(tmp_path: Path) -> None:
    with DiscordService() as discord:
        old = write_database(tmp_path / "cordfeeder.db", many(discord))
        command = ("manage.py", "migrate_from", "cordfeeder", str(old))
        wanted, cut_off = list[Any](), 0
        for number in range(1 + KILLS):
            folder = tmp_path / str(number)
            folder.mkdir()
            with sqlite_installation(
                folder,
                DISCORD_API_URL=discord.base,
                DISCORD_APPLICATION_ID=APPLICATION,
                DISCORD_PUBLIC_KEY=PUBLIC_KEY,
                DISCORD_BOT_TOKEN=BOT_TOKEN,
            ) as here:
                if number:
                    killed = here.start(*command)
                    wait_for_rows(folder, OUTCOME[0], random.randrange(ADDRESSES * SERVERS), killed)
                    here.kill(killed)
                    cut_off += answers(folder, OUTCOME) != wanted
                here.manage(*command[1:])
                wanted = wanted or answers(folder, OUTCOME)
                assert answers(folder, OUTCOME) == wanted
        assert len(wanted[0]) == ADDRESSES * SERVERS
        assert cut_off
