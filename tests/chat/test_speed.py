"""Responses are quick with any number of servers."""

import time

import pytest

from chat.models import Guild, GuildFeed
from subscriptions.models import Subscribable
from tests.examples import NIGHTLY
from tests.factories import FeedFactory
from tests.servers.services.discord import GUILD
from tests.servers.services.discord_client import DiscordClient

pytestmark = [NIGHTLY, pytest.mark.django_db]
SERVERS, FEEDS_EACH, COMMANDS = 1_000, 3, 60


def many_servers() -> None:
    feeds = FeedFactory.create_batch(50)
    guilds = [Guild(pk=int(GUILD) + number) for number in range(SERVERS)]
    Guild.objects.bulk_create(guilds)
    pairs = [(guild, number) for guild in guilds for number in range(1, FEEDS_EACH + 1)]
    bridges = Subscribable.objects.bulk_create(
        Subscribable(name=f"discord-{guild.pk}-{number}", title=f"Bees {number}", channel="discord_bot")
        for guild, number in pairs
    )
    GuildFeed.objects.bulk_create(
        GuildFeed(
            guild=guild,
            number=number,
            subscribable=bridge,
            feed=feeds[place % len(feeds)],
            channel_id=place,
            added_by=1,
            interaction_id=place,
        )
        for place, ((guild, number), bridge) in enumerate(zip(pairs, bridges, strict=True))
    )


def test_commands_of_a_thousand_servers_are_answered_in_time(ada: DiscordClient) -> None:
    many_servers()
    ada.command("feed list")
    took = []
    for number in range(COMMANDS):
        ada.person = str(100_000 + number)
        began = time.perf_counter()
        ada.command("feed list" if number % 2 else "feed status")
        took.append(time.perf_counter() - began)
    slowest = sorted(took)[int(COMMANDS * 0.95)]
    assert slowest < 0.3


def test_choices_come_at_once(ada: DiscordClient) -> None:
    many_servers()
    ada.typing("feed why", "feed", "bees")
    began = time.perf_counter()
    assert len(ada.typing("feed why", "feed", "bees")) == FEEDS_EACH
    took = time.perf_counter() - began
    assert took < 0.1
