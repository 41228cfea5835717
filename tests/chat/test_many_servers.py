"""A post of a feed that many servers have goes into each of their channels once, and is read once."""

from datetime import timedelta

import pytest

from chat.guilds.account import ensure_account
from chat.models import BotFeed, Guild, GuildFeed
from delivery.engine.send_pass import send_due
from delivery.issues.complete import complete_due
from delivery.models import Delivery
from feeds.models import Feed, Item
from subscriptions.collections.assign import assign_final
from subscriptions.models import Subscribable
from tests.delivery.ledger import Clock
from tests.factories import NOW, DestinationFactory, FeedFactory, ItemFactory, SubscriptionFactory
from tests.servers.services.discord_client import DiscordService

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
SERVERS = 60


def test_sixty_servers_get_a_post_once_each(service: DiscordService) -> None:
    ensure_account(now=NOW)
    feed = FeedFactory(fetched_through=NOW, first_polled_at=NOW)
    BotFeed.objects.create(feed=feed)
    for number in range(SERVERS):
        channel = str(1_300_000_000_000_000_000 + number)
        service.channels[channel] = str(900 + number)
        guild = Guild.objects.create(pk=900 + number)
        bridge = Subscribable.objects.create(name=f"discord-{number}", title="Bees", channel="discord_bot")
        bridge.feeds.add(feed)
        config = {"account": "discord", "channel_id": channel, "guild_id": str(guild.pk), "channel_type": "0"}
        to = DestinationFactory(kind="discord_bot", core=f"discord/{channel}", config=config)
        SubscriptionFactory(subscribable=bridge, destination=to)
        GuildFeed.objects.create(
            guild=guild,
            number=1,
            subscribable=bridge,
            feed=feed,
            channel_id=int(channel),
            added_by=1,
            interaction_id=number,
        )
    ItemFactory(feed=feed, title="News", final_at=NOW)
    assert Feed.objects.count() == 1
    clock = Clock(NOW)
    assert assign_final(clock=clock) == 1
    complete_due(clock=clock)
    for _ in range(30):
        send_due(clock=clock)
        clock.now += timedelta(seconds=1)
    assert not Delivery.objects.exclude(state="sent").exists()
    assert len({message["channel_id"] for message in service.messages}) == len(service.messages) == SERVERS
    assert Item.objects.get().state == Item.State.CLEARED
