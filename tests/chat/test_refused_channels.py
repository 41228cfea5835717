"""A channel refuses the bot for a while: posts wait, people get the reason, and all goes on.

Effects of a deleted channel, a locked thread, a kicked bot, a revoked token, a removed feed.
"""

from datetime import timedelta
from typing import Any

import pytest

from chat.alerts.post import note_troubles, post_alerts
from chat.guilds.feeds import KEPT_AFTER_REMOVAL, forget_old
from chat.interactions.work import answer_due
from chat.models import BotFeed, Guild, GuildFeed, ServerAlert
from delivery.models import Delivery, Lane, ServiceAccount
from feeds.models import Feed
from subscriptions.models import Destination, Subscribable
from subscriptions.subscribers.suppression import disable
from tests.chat.sites import serve_feed
from tests.chat.test_commands import add
from tests.chat.test_journey import Rounds, posted, why
from tests.delivery.ledger import Clock
from tests.examples import some_now
from tests.servers.api_server import Reply
from tests.servers.feed_server import FeedServer
from tests.servers.services.discord import CHANNEL, GUILD
from tests.servers.services.discord_client import DiscordClient, DiscordService

pytestmark = pytest.mark.django_db(transaction=True)
LOG, OTHER = "1200000000000000008", "1200000000000000007"
MESSAGES = f"/api/v10/channels/{CHANNEL}/messages"
VIEW, SEND, EMBED = 1 << 10, 1 << 11, 1 << 14
REFUSALS = {
    50001: (403, "Missing Access"),
    50013: (403, "Missing Permissions"),
    160005: (400, "Thread is locked"),
    50083: (400, "Thread is archived"),
    50009: (403, "Channel verification level is too high"),
}


@pytest.fixture
def rounds(service: DiscordService, ada: DiscordClient, site: FeedServer) -> Rounds:
    """Return rounds for a server with a feed, read once, and a log channel."""
    service.channels |= {LOG: GUILD, OTHER: GUILD}
    add(ada, serve_feed(site, posts=0))
    Guild.objects.update(log_channel=int(LOG))
    made = Rounds()
    made(2)
    return made


def refuse(service: DiscordService, code: int = 50013, *, denied: int = SEND) -> None:
    status, words = REFUSALS[code]
    service.paths[MESSAGES] = Reply(status, {"message": words, "code": code})
    service.denied[CHANNEL] = denied


def allow(service: DiscordService) -> None:
    service.paths.pop(MESSAGES, None)
    service.denied.clear()


def new_posts(site: FeedServer, rounds: Rounds, count: int, first: int = 1) -> None:
    """Publish a post each hour."""
    for number in range(first, first + count):
        began = rounds.now - timedelta(hours=number, minutes=-10 * number)
        serve_feed(site, posts=number, began=began)
        rounds(6)


def titles(first: int, last: int) -> list[str]:
    return [f"Post {number}" for number in range(first, last + 1)]


def answered(ada: DiscordClient, command: str, **options: str) -> str:
    ada.command(command, **options)
    answer_due()
    return ada.said


def told(rounds: Rounds) -> list[str]:
    for _ in range(2):
        note_troubles(now=rounds.now)
        post_alerts(clock=Clock(rounds.now))
    return [alert.trouble for alert in ServerAlert.objects.filter(state=ServerAlert.State.POSTED)]


@pytest.mark.slow
@pytest.mark.parametrize("code", some_now(REFUSALS))
def test_posts_of_an_hour_without_the_right_arrive_in_order_and_once(
    code: int, service: DiscordService, ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    new_posts(site, rounds, 1)
    refuse(service, code)
    new_posts(site, rounds, 3, first=2)
    words = REFUSALS[code][1]
    # It is tried once an hour.
    assert len(service.asked(MESSAGES)) - 1 <= 4
    assert posted(service) == titles(1, 1)
    assert Destination.objects.get().disabled_at is None
    assert told(rounds) == ["refused"]
    [notice] = [one for one in service.messages if one["channel_id"] == LOG]
    assert words in notice["content"]
    assert "New posts are waiting" in notice["content"]
    for command in ("feed list", "feed status"):
        ada.command(command)
        assert words in ada.said
        assert "I’ll try again <t:" in ada.said
    lane = Lane.objects.get(kind="discord_bot", parent__isnull=False)
    assert lane.free_at
    assert f"waits until <t:{int(lane.free_at.timestamp())}:R>. Discord said: " in why(ada)
    allow(service)
    rounds(12)
    assert posted(service) == titles(1, 4)
    assert not Delivery.objects.exclude(state="sent").exists()
    assert told(rounds) == ["refused"]
    ada.command("feed status")
    assert "All feeds are working" in ada.said


@pytest.mark.slow
def test_a_channel_is_asked_hourly_for_three_days_and_daily_then(
    service: DiscordService, site: FeedServer, rounds: Rounds
) -> None:
    refuse(service)
    new_posts(site, rounds, 1)
    lane = Lane.objects.get(kind="discord_bot", parent__isnull=False)
    assert lane.free_at
    assert lane.refused_since
    assert timedelta(minutes=50) < lane.free_at - lane.refused_since <= timedelta(hours=2)
    rounds.now = lane.refused_since + timedelta(days=3, hours=1)
    rounds(1)
    lane.refresh_from_db()
    assert lane.free_at - rounds.now > timedelta(hours=23)
    # Longer than any message is tried.
    for day in range(1, 8):
        rounds.now = lane.refused_since + timedelta(days=3 + 2 * day)
        rounds(1)
    allow(service)
    rounds.now += timedelta(days=1)
    rounds(2)
    assert posted(service) == titles(1, 1)


@pytest.mark.parametrize(
    ("code", "denied", "names"),
    [(50001, VIEW, ["View Channel"]), (50013, SEND | EMBED, ["Send Messages", "Embed Links"])],
)
def test_resume_and_test_say_what_is_missing_and_go_on_when_nothing_is(
    code: int,
    denied: int,
    names: list[str],
    service: DiscordService,
    ada: DiscordClient,
    site: FeedServer,
    rounds: Rounds,
) -> None:
    refuse(service, code, denied=denied)
    new_posts(site, rounds, 1)
    for command in ("feed resume", "feed test"):
        said = answered(ada, command, feed="1")
        assert [name for name in names if name in said] == names, command
    assert posted(service) == []
    assert names[0] in answered(ada, "feed resume", feed="all")
    allow(service)
    assert "1 feed is resumed" in answered(ada, "feed resume", feed="all")
    rounds(1)
    assert posted(service) == titles(1, 1)


def test_a_test_that_is_taken_lets_the_waiting_posts_go(
    service: DiscordService, ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    refuse(service)
    new_posts(site, rounds, 2)
    allow(service)
    assert "Posted the newest post of" in answered(ada, "feed test", feed="1")
    rounds(1)
    assert posted(service) == [*titles(2, 2), *titles(1, 2)]


def test_a_test_names_the_right_before_any_post_was_refused(
    service: DiscordService, ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    new_posts(site, rounds, 1)
    refuse(service, denied=EMBED)
    assert "Embed Links" in answered(ada, "feed test", feed="1")
    assert Destination.objects.get().disabled_at is None


def test_a_paused_feed_resumes_although_the_right_is_missing_still(
    service: DiscordService, ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    refuse(service)
    new_posts(site, rounds, 1)
    ada.command("feed pause", feed="1")
    assert "Send Messages" in answered(ada, "feed resume", feed="1")
    assert not Subscribable.objects.get().stopped


def test_the_button_of_the_notice_asks_again(
    service: DiscordService, ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    refuse(service)
    new_posts(site, rounds, 1)
    assert told(rounds) == ["refused"]
    allow(service)
    ada.press_id("v1:resume:1")
    answer_due()
    assert "is resumed" in ada.said


@pytest.mark.slow
def test_what_waits_moves_to_the_other_channel(
    service: DiscordService, ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    refuse(service)
    new_posts(site, rounds, 2)
    assert "will now be posted in" in answered(ada, "feed move", feed="1", channel=OTHER)
    new_posts(site, rounds, 1, first=3)
    assert [one["channel_id"] for one in service.messages] == [OTHER] * 3
    assert posted(service) == titles(1, 3)
    ada.command("feed status")
    assert "All feeds are working" in ada.said


@pytest.mark.parametrize("command", ["feed resume", "feed test"])
def test_a_channel_that_was_disabled_before_is_enabled_by_its_people(
    command: str, service: DiscordService, ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    new_posts(site, rounds, 1)
    said = "discord.com answered 403: Missing Permissions. Look at the bot's token."
    disable(destination=Destination.objects.get(), now=rounds.now, reason=said)
    answered(ada, command, feed="1")
    assert Destination.objects.get().disabled_at is None
    before = posted(service)
    new_posts(site, rounds, 1, first=2)
    assert posted(service) == [*before, *titles(2, 2)]


def test_the_operators_switch_is_not_undone_by_chat(
    ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    new_posts(site, rounds, 1)
    disable(destination=Destination.objects.get(), now=rounds.now)
    for command in ("feed resume", "feed test"):
        assert "has turned off that channel: Disabled by hand" in answered(ada, command, feed="1")
    assert Destination.objects.get().disabled_at is not None


@pytest.mark.parametrize("command", ["feed resume", "feed test"])
def test_a_channel_that_is_gone_stays_off_and_that_is_said(
    command: str, service: DiscordService, ada: DiscordClient, site: FeedServer, rounds: Rounds
) -> None:
    new_posts(site, rounds, 1)
    del service.channels[CHANNEL]
    new_posts(site, rounds, 1, first=2)
    assert Destination.objects.get().disabled_at is not None
    assert "/feed move" in answered(ada, command, feed="1")
    assert Destination.objects.get().disabled_at is not None


@pytest.mark.parametrize(
    ("channel", "member", "words"),
    [
        ({"type": 11, "parent_id": OTHER, "thread_metadata": {"locked": True}}, {}, "is locked"),
        ({}, {"communication_disabled_until": "2999-01-01T00:00:00+00:00"}, "timed out"),
    ],
    ids=["a locked thread", "a bot that is timed out"],
)
def test_other_reasons_are_named(
    channel: dict[str, object],
    member: dict[str, object],
    words: str,
    service: DiscordService,
    ada: DiscordClient,
    site: FeedServer,
    rounds: Rounds,
) -> None:
    refuse(service, 160005, denied=0)
    service.about_channels[CHANNEL] = channel
    service.about_bot |= member
    new_posts(site, rounds, 1)
    assert words in answered(ada, "feed resume", feed="1")


@pytest.fixture
def read_rounds(service: DiscordService, ada: DiscordClient, site: FeedServer) -> Rounds:
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


def asked(service: DiscordService) -> int:
    return len(service.asked(MESSAGES))


@pytest.mark.slow
def test_a_channel_that_is_gone_is_told_of_once_and_not_called_again(
    service: DiscordService, ada: DiscordClient, site: FeedServer, read_rounds: Rounds
) -> None:
    words = "Unknown Channel"
    service.paths[MESSAGES] = Reply(404, {"message": words, "code": 10003})
    a_new_post(site, read_rounds)
    assert asked(service) == 1
    assert Destination.objects.get().disabled_at is not None
    assert told(read_rounds) == ["refused"]
    [notice] = [one for one in service.messages if one["channel_id"] == LOG]
    assert words in notice["content"]
    a_new_post(site, read_rounds, posts=5)
    assert asked(service) == 1
    assert told(read_rounds) == ["refused"]
    ada.command("feed why", feed="1")
    assert words in ada.said
    ada.command("feed list")
    assert words in ada.said
    # Another channel ends the trouble.
    service.channels["1200000000000000007"] = GUILD
    ada.command("feed move", feed="1", channel="1200000000000000007")
    answer_due()
    a_new_post(site, read_rounds, posts=6)
    assert posted(service)[-1:] == ["Post 6"]


@pytest.mark.slow
def test_a_bot_that_was_kicked_ends_all_and_tells_nobody(
    service: DiscordService, site: FeedServer, read_rounds: Rounds
) -> None:
    service.paths[MESSAGES] = Reply(403, {"message": "Missing Access", "code": 50001})
    service.portal.known.guilds.clear()
    a_new_post(site, read_rounds)
    assert told(read_rounds) == []
    assert Guild.objects.get().removed_at is not None
    assert not GuildFeed.objects.present().exists()
    before = len(service.requests)
    a_new_post(site, read_rounds, posts=5)
    assert told(read_rounds) == []
    assert len(service.requests) == before


@pytest.mark.slow
def test_a_revoked_token_stops_the_account_and_loses_nothing(
    service: DiscordService, site: FeedServer, read_rounds: Rounds
) -> None:
    refused = Reply(401, {"message": "401: Unauthorized", "code": 0})
    service.paths[MESSAGES] = refused
    a_new_post(site, read_rounds)
    calls = asked(service)
    a_new_post(site, read_rounds, posts=5)
    # It is tried now and then, less often than once for each waiting post.
    assert asked(service) - calls <= 5
    assert Destination.objects.get().disabled_at is None
    assert not Delivery.objects.filter(state="failed").exists()
    assert told(read_rounds) == []
    del service.paths[MESSAGES]
    read_rounds(6)
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
    service: DiscordService, ada: DiscordClient, site: FeedServer, read_rounds: Rounds
) -> None:
    service.paths[MESSAGES] = Reply(503)
    a_new_post(site, read_rounds)
    ada.command("feed remove", feed="1")
    ada.press("Remove")
    del service.paths[MESSAGES]
    read_rounds(6)
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
