"""The fate of a feed's posts in a server, as in `/feed why`."""

from datetime import timedelta
from typing import Any

import pytest

from chat.commands.context import trouble_in_words
from chat.commands.feeds import fate_words
from chat.guilds.history import latest_fates
from chat.models import Guild, GuildFeed
from delivery.models import Delivery
from feeds.models import Item
from tests.factories import (
    NOW,
    BridgeFactory,
    DeliveryFactory,
    FeedFactory,
    FinalItemFactory,
    IssueFactory,
    IssueItemFactory,
    ItemFactory,
)
from tests.servers.services.discord_client import DiscordClient

pytestmark = pytest.mark.django_db
MOMENT = f"<t:{int(NOW.timestamp())}:R>"


@pytest.fixture
def one() -> GuildFeed:
    return a_guild_feed(701)


def a_guild_feed(guild: int) -> GuildFeed:
    return GuildFeed.objects.create(
        guild=Guild.objects.create(pk=guild),
        number=1,
        subscribable=BridgeFactory(channel="discord_bot", title="Bees"),
        feed=FeedFactory(),
        channel_id=5,
        added_by=1,
        interaction_id=guild,
    )


def said(one: GuildFeed) -> str:
    (fate,) = latest_fates(one, now=NOW)
    return fate_words(fate)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"state": "sent", "sent_at": NOW, "remote_id": "1/1"}, f"posted {MOMENT}"),
        ({"state": "stored", "sent_at": NOW}, f"posted {MOMENT}"),
        (
            {"state": "failed", "last_error": "discord.com answered 400: Invalid Form Body."},
            "failed. Discord said: discord.com answered 400\\: Invalid Form Body.",
        ),
        # Our own refusals are not Discord's.
        (
            {"state": "failed", "last_error": "The post has no link that can be used."},
            "not posted: The post has no link that can be used.",
        ),
        (
            {"state": "failed", "last_error": "Nothing was posted: discord.com has no address in the DNS."},
            "not posted: Nothing was posted\\: discord.com has no address in the DNS.",
        ),
        ({"state": "cancelled", "last_error": "The feed was removed."}, "not posted: The feed was removed."),
        ({"state": "queued"}, f"waits until {MOMENT}"),
        (
            {"state": "held", "held_for": "pause", "last_error": "Its issue or newsletter is paused."},
            "waits: Its issue or newsletter is paused.",
        ),
        ({"state": "held", "held_for": "restore"}, "waits: a backup was restored"),
        (
            {"state": "held", "last_error": "The answer was lost."},
            "may or may not have been posted, and won’t be retried automatically: The answer was lost.",
        ),
    ],
)
def test_what_stands_in_the_ledger_is_said(one: GuildFeed, facts: dict[str, Any], words: str) -> None:
    item = ItemFactory(feed=one.feed, state="cleared")
    issue = IssueFactory(subscribable=one.subscribable)
    IssueItemFactory(issue=issue, item=item)
    DeliveryFactory(issue=issue, **facts)
    assert said(one) == words


def test_one_that_is_on_its_way_says_so(one: GuildFeed) -> None:
    item = ItemFactory(feed=one.feed, state="cleared")
    issue = IssueFactory(subscribable=one.subscribable)
    IssueItemFactory(issue=issue, item=item)
    token = "9b2b6a1e-0d5c-4c5b-8f0e-3d5f7c1f2a11"
    DeliveryFactory(issue=issue, state=Delivery.State.SENDING, lease_token=token, lease_until=NOW)
    assert said(one) == "is being posted"


def test_a_post_that_is_nowhere_yet_says_what_it_waits_for(one: GuildFeed) -> None:
    item = ItemFactory(feed=one.feed)
    assert said(one) == "is new, and waits until it stops changing"
    Item.objects.filter(pk=item.pk).update(held_at=NOW)
    assert said(one) == "waits for your decision"
    Item.objects.filter(pk=item.pk).update(held_at=None, vanished_at=NOW)
    assert said(one) == "not posted because it was withdrawn before it was ready"


def test_a_post_whose_issue_waits_says_what_for(one: GuildFeed) -> None:
    item = ItemFactory(feed=one.feed, state="cleared")
    IssueItemFactory(issue=IssueFactory(subscribable=one.subscribable, published_at=None), item=item)
    assert said(one) == "waits: for your approval"


def test_a_post_that_was_there_before_says_so_in_the_feeds_words_alone(one: GuildFeed) -> None:
    item = ItemFactory(feed=one.feed, state="excluded", reason="older than a month")
    assert said(one) == "not posted: older than a month"
    # The reason names newsletters, which may belong to other servers.
    Item.objects.filter(pk=item.pk).update(state="cleared", reason="left out by The Secret Weekly")
    assert said(one) == "not posted because it existed when the feed was added"
    Item.objects.filter(pk=item.pk).update(first_seen=one.added_at + timedelta(minutes=1))
    assert said(one).startswith("not posted. Posts published while a feed is paused")
    assert "`/feed resume`" in said(one)


def test_the_daily_limit_is_named_until_it_ends(one: GuildFeed) -> None:
    issue = IssueFactory(subscribable=one.subscribable)
    IssueItemFactory(issue=issue, item=ItemFactory(feed=one.feed, state="cleared"))
    DeliveryFactory(
        issue=issue, state="held", held_for="pause", last_error="Its issue or newsletter is paused."
    )
    one.rests_until = NOW
    assert said(one) == f"waits until {MOMENT}, because of the daily limit of posts"
    assert "has reached the daily limit" in trouble_in_words(one)


def test_another_servers_posts_say_nothing_here(one: GuildFeed) -> None:
    other = a_guild_feed(702)
    issue = IssueFactory(subscribable=other.subscribable)
    IssueItemFactory(issue=issue, item=FinalItemFactory(feed=one.feed, state="cleared"))
    DeliveryFactory(issue=issue, state="sent", sent_at=NOW, remote_id="1/1")
    assert said(one) == "not posted because it existed when the feed was added"


@pytest.mark.django_db
def test_a_feed_without_posts_says_so(ada: DiscordClient, one: GuildFeed) -> None:
    ada.guild = str(one.guild_id)
    ada.command("feed why", feed="1")
    assert "has had no posts yet" in ada.said
