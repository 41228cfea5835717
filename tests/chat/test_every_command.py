"""All commands: no access to other servers' feeds, nothing done twice, all responses arrive."""

from datetime import timedelta
from typing import Any

import pytest

from chat.commands.registry import COMMANDS
from chat.interactions.work import answer_due
from chat.models import GuildFeed, Interaction
from common.clock import utcnow
from common.secrets import opened
from feeds.polling.poll import poll_due
from subscriptions.models import Subscribable
from tests.chat.sites import serve_feed
from tests.chat.test_commands import add, some_feeds
from tests.delivery.ledger import Clock
from tests.servers.api_server import Reply
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord import GUILD
from tests.servers.services.discord_client import APPLICATION, DiscordClient, DiscordService

pytestmark = pytest.mark.django_db(transaction=True)
OTHER_CHANNEL = "1200000000000000007"
# Required options besides the feed.
OPTIONS: dict[str, dict[str, Any]] = {"move": {"channel": OTHER_CHANNEL}, "digest": {"when": "daily"}}
WITHOUT_FEED = {"add", "list", "status", "settings"}
OF_ONE_FEED = sorted(set(COMMANDS["feed"]) - WITHOUT_FEED)
DEFERRED = ("add", "preview", "test", "move")


def data_of(client: DiscordClient, act: str, url: str) -> dict[str, Any]:
    options = {"url": url} if act == "add" else OPTIONS.get(act, {})
    given = options if act in WITHOUT_FEED else {"feed": "1", **options}
    return client._command(f"feed {act}", given)


@pytest.mark.every_case
@pytest.mark.parametrize("act", OF_ONE_FEED)
def test_the_feed_of_another_server_is_not_there(
    act: str, service: DiscordService, ada: DiscordClient
) -> None:
    some_feeds(1, guild=701)
    before = list(Subscribable.objects.values())
    ada.send(2, data_of(ada, act, ""))
    answer_due()
    assert "have that feed" in ada.said
    assert list(Subscribable.objects.values()) == before


@pytest.mark.parametrize("act", sorted(COMMANDS["feed"]))
def test_the_same_interaction_is_answered_once(
    act: str, service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    service.channels[OTHER_CHANNEL] = GUILD
    url = serve_feed(site)
    if act != "add":
        add(ada, url)
        poll_due(clock=Clock(utcnow()))
    for _ in range(2):
        ada.send(2, data_of(ada, act, url), number="1500000000000000000")
        answer_due()
    assert "already answered" in ada.said
    assert GuildFeed.objects.count() == 1
    assert len(service.messages) == (1 if act == "test" else 0)


def ready(service: DiscordService, ada: DiscordClient, site: FeedServer, act: str) -> dict[str, Any]:
    service.channels[OTHER_CHANNEL] = GUILD
    url = serve_feed(site)
    if act != "add":
        add(ada, url)
        poll_due(clock=Clock(utcnow()))
    return data_of(ada, act, url)


def was_done(act: str, service: DiscordService) -> bool:
    match act:
        case "test":
            return len(service.messages) == 1
        case "move":
            return GuildFeed.objects.get().channel_id == int(OTHER_CHANNEL)
    return GuildFeed.objects.count() == 1


@pytest.mark.every_case
@pytest.mark.parametrize("act", DEFERRED)
def test_with_an_expired_token_it_is_done_and_forgotten(
    act: str, service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    ada.send(2, ready(service, ada, site, act))
    service.interactions.clock = lambda: utcnow() + timedelta(minutes=16)
    answer_due()
    row = Interaction.objects.latest("created_at")
    assert (row.state, opened(row.secrets)) == (Interaction.State.DONE, {})
    assert was_done(act, service)


@pytest.mark.every_case
@pytest.mark.parametrize("act", DEFERRED)
@pytest.mark.parametrize("down", [Reply(503), Reply(hangs_up=True)], ids=["refuses", "hangs up"])
def test_an_answer_waits_while_discord_is_down(
    act: str, down: Reply, service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    ada.send(2, ready(service, ada, site, act))
    place = f"/api/v10/webhooks/{APPLICATION}/{ada.token}/messages/@original"
    service.paths[place] = down
    clock = Clock(utcnow())
    for _ in range(3):
        assert answer_due(clock=clock) == 0
        clock.now += timedelta(minutes=1)
    assert was_done(act, service)
    del service.paths[place]
    clock.now += timedelta(minutes=2)
    assert answer_due(clock=clock) == 1
    assert ada.said
    assert was_done(act, service)


@pytest.mark.every_case
@pytest.mark.parametrize("act", DEFERRED)
def test_an_answer_that_is_too_early_comes_again(
    act: str, service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    ada.send(2, ready(service, ada, site, act))
    service.not_yet, clock = 1, Clock(utcnow())
    assert answer_due(clock=clock) == 0
    clock.now += timedelta(seconds=2)
    assert answer_due(clock=clock) == 1
    assert ada.said
