"""Effects of a deleted channel, a locked thread, a kicked bot, a revoked token, a removed feed."""

from datetime import timedelta
from typing import Any

import pytest

from chat.alerts.post import note_troubles, post_alerts
from chat.guilds.feeds import KEPT_AFTER_REMOVAL, forget_old
from chat.interactions.work import answer_due
from chat.models import BotFeed, Guild, GuildFeed, ServerAlert
from delivery.models import Delivery, ServiceAccount
from feeds.models import Feed
from subscriptions.models import Destination, Subscribable
from tests.chat.sites import serve_feed
from tests.chat.test_commands import add
from tests.chat.test_journey import Rounds, posted
from tests.delivery.ledger import Clock
from tests.servers.api_server import Reply
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord import CHANNEL, GUILD
from tests.servers.services.discord_client import DiscordClient, DiscordService

pytestmark = pytest.mark.django_db(transaction=True)
LOG = "1200000000000000008"
MESSAGES = f"/api/v10/channels/{CHANNEL}/messages"


@pytest.fixture
def rounds(service: DiscordService, ada: DiscordClient, site: FeedServer) -> Rounds:
    """Return rounds for a server with a feed, read once, and a log channel."""
    service.channels[LOG] = GUILD
    add(ada, serve_feed(site))
    Guild.objects.update(log_channel=int(LOG))
    made = Rounds()
    made(2)
    return made


def a_new_post(site: FeedServer, rounds: Rounds, posts: int = 4) -> None:
    serve_feed(site, posts=posts, began=rounds.now - timedelta(hours=posts))
    rounds(5)


def told(rounds: Rounds) -> list[str]:
    """Return the messages in the log channel after two checks."""
    for _ in range(2):
        note_troubles(now=rounds.now)
        post_alerts(clock=Clock(rounds.now))
    return [alert.trouble for alert in ServerAlert.objects.filter(state=ServerAlert.State.POSTED)]


def asked(service: DiscordService) -> int:
    return len(service.asked(MESSAGES))


@pytest.mark.slow
def test_a_channel_that_is_gone_is_told_of_once_and_not_called_again(
    service: DiscordService, ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    words = "Unknown Channel"
    service.paths[MESSAGES] = Reply(404, {"message": words, "code": 10003})
    a_new_post(site, rounds)
    assert asked(service) == 1
    assert Destination.objects.get().disabled_at is not None
    assert told(rounds) == ["refused"]
    [notice] = [one for one in service.messages if one["channel_id"] == LOG]
    assert words in notice["content"]
    a_new_post(site, rounds, posts=5)
    assert asked(service) == 1
    assert told(rounds) == ["refused"]
    ada.command("feed why", feed="1")
    assert words in ada.said
    ada.command("feed list")
    assert words in ada.said
    # Another channel ends the trouble.
    service.channels["1200000000000000007"] = GUILD
    ada.command("feed move", feed="1", channel="1200000000000000007")
    answer_due()
    a_new_post(site, rounds, posts=6)
    assert posted(service)[-1:] == ["Post 6"]


@pytest.mark.slow
def test_a_bot_that_was_kicked_ends_all_and_tells_nobody(
    service: DiscordService, site: FeedServer, rounds: Rounds
) -> None:
    service.paths[MESSAGES] = Reply(403, {"message": "Missing Access", "code": 50001})
    service.portal.known.guilds.clear()
    a_new_post(site, rounds)
    assert told(rounds) == []
    assert Guild.objects.get().removed_at is not None
    assert not GuildFeed.objects.present().exists()
    before = len(service.requests)
    a_new_post(site, rounds, posts=5)
    assert told(rounds) == []
    assert len(service.requests) == before


@pytest.mark.slow
def test_a_revoked_token_stops_the_account_and_loses_nothing(
    service: DiscordService, site: FeedServer, rounds: Rounds
) -> None:
    refused = Reply(401, {"message": "401: Unauthorized", "code": 0})
    service.paths[MESSAGES] = refused
    a_new_post(site, rounds)
    calls = asked(service)
    a_new_post(site, rounds, posts=5)
    # It is tried now and then, less often than once for each waiting post.
    assert asked(service) - calls <= 5
    assert Destination.objects.get().disabled_at is None
    assert not Delivery.objects.filter(state="failed").exists()
    assert told(rounds) == []
    del service.paths[MESSAGES]
    rounds(6)
    assert posted(service) == ["Post 4", "Post 5"]
    assert ServiceAccount.objects.count() == 1


@pytest.mark.slow
def test_a_forum_gets_a_thread_for_each_post(
    service: DiscordService, ada: DiscordClient, site: FeedServer
) -> None:
    service.channel_type, ada.channel_type = 15, 15
    add(ada, serve_feed(site))
    rounds = Rounds()
    rounds(2)
    a_new_post(site, rounds)
    [thread] = service.asked(f"/api/v10/channels/{CHANNEL}/threads")
    assert thread.json["name"] == "Post 4"


def test_a_removed_feed_posts_nothing_that_waits_and_is_gone_a_month_later(
    service: DiscordService, ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    service.paths[MESSAGES] = Reply(503)
    a_new_post(site, rounds)
    ada.command("feed remove", feed="1")
    ada.press("Remove")
    del service.paths[MESSAGES]
    rounds(6)
    assert posted(service) == []
    assert not Delivery.objects.waiting().exists()
    removed_at = GuildFeed.objects.get().removed_at
    assert removed_at is not None
    # A removed feed is unknown to every act.
    for act in ("pause", "why", "test"):
        ada.command(f"feed {act}", feed="1")
        assert "have that feed" in ada.said
    assert forget_old(now=removed_at + KEPT_AFTER_REMOVAL - timedelta(minutes=1)) == 0
    forget_old(now=removed_at + KEPT_AFTER_REMOVAL + timedelta(days=1))
    forget_old(now=removed_at + KEPT_AFTER_REMOVAL + timedelta(days=1))
    left: list[Any] = [GuildFeed, Subscribable, BotFeed, Feed]
    assert [model.objects.count() for model in left] == [0, 0, 0, 0]
