"""A server's feeds as rows: added once, found by typed text, moved, removed, forgotten.

The fate of a feed's posts in a server, as in `/feed why`.
A feed has a daily quota; the rest waits until midnight, with one message in the channel.
"""

from datetime import timedelta
from typing import Any

import pytest

from chat.alerts.post import note_troubles, post_alerts
from chat.commands.context import trouble_in_words
from chat.commands.feeds import fate_words
from chat.guilds import feeds, shared
from chat.guilds.history import latest_fates
from chat.guilds.servers import keep_quotas
from chat.models import BotFeed, BotSettings, Guild, GuildFeed
from common.ports.channels import ParsedDestination
from common.refused import Refused
from delivery.issues.publish import publish
from delivery.models import Delivery
from feeds.models import Feed, Item
from reader.channels.follows import follow_feed
from reader.people.readers import add_reader
from subscriptions.models import Subscribable, Subscription
from tests.delivery.ledger import Clock
from tests.factories import (
    NOW,
    BridgeFactory,
    DeliveryFactory,
    DestinationFactory,
    FeedFactory,
    FinalItemFactory,
    IssueFactory,
    IssueItemFactory,
    ItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
    an_issue,
)
from tests.servers.services.discord import CHANNEL
from tests.servers.services.discord_client import DiscordClient, DiscordService

MOMENT = f"<t:{int(NOW.timestamp())}:R>"
pytestmark = pytest.mark.django_db
URL = "https://bees.example/feed.xml"
LATER = NOW + feeds.KEPT_AFTER_REMOVAL + timedelta(minutes=1)


@pytest.fixture
def guild() -> Guild:
    return Guild.objects.create(pk=701, name="Bee keepers")


def to_channel(number: int) -> ParsedDestination:
    config = {"account": "bot", "channel_id": str(number), "guild_id": "701"}
    return ParsedDestination(core=f"discord/{number}", config=config, label=f"#{number}")


def add(
    guild: Guild, url: str = URL, *, title: str = "Bees", channel: int = 5, interaction: int = 1
) -> GuildFeed:
    given: dict[str, Any] = {"options": {}, "first_posts": 0, "language": "en", "by": 42, "now": NOW}
    return feeds.add_guild_feed(
        guild=guild, url=url, title=title, to=to_channel(channel), interaction=interaction, **given
    )


def follow(feed: Feed) -> None:
    """Let a reader follow it."""
    follow_feed(channel=add_reader(name="ada", now=NOW).channels.get(uid="home"), feed=feed)


def where(one: GuildFeed) -> list[str]:
    rows = Subscription.objects.filter(subscribable=one.subscribable, status="confirmed")
    return list(rows.values_list("destination__core", flat=True))


def test_the_same_interaction_adds_once(guild: Guild) -> None:
    assert add(guild) == add(guild)
    with pytest.raises(Refused, match="already in this channel, as number 1"):
        add(guild, interaction=2)


def test_a_site_that_was_denied_meanwhile_is_not_added(guild: Guild) -> None:
    BotSettings.objects.create(pk=1, denied_hosts="bees.example")
    with pytest.raises(Refused, match="has blocked that site"):
        add(guild)
    assert not Feed.objects.exists()


def test_a_feed_is_found_by_number_title_or_address_if_only_one_is_meant(guild: Guild) -> None:
    bees = add(guild)
    add(guild, "https://wasps.example/feed.xml", title="Wasps", interaction=2)
    for typed in ("1", " #1 ", "bees", URL, "bees.ex"):
        assert feeds.find_feed(guild, typed) == bees
    with pytest.raises(Refused, match="Use the number"):
        feeds.find_feed(guild, "example")
    for typed in ("", "3", "hornets", "9" * 30):
        with pytest.raises(Refused, match="have that feed"):
            feeds.find_feed(guild, typed)


def test_before_anything_is_typed_all_are_suggested(guild: Guild) -> None:
    add(guild)
    add(guild, title="Again", channel=6, interaction=2)
    assert feeds.suggestions(guild.pk, " ") == [("1 · Bees", "1"), ("2 · Again", "2")]


def test_a_feed_moves_once_and_not_where_it_is_already(guild: Guild) -> None:
    one, other = add(guild), add(guild, channel=6, interaction=2)
    with pytest.raises(Refused, match="already in that channel"):
        feeds.move_feed(one, to=to_channel(6), now=NOW)
    feeds.remove_feed(other, now=NOW)
    feeds.move_feed(one, to=to_channel(6), now=NOW)
    one.refresh_from_db()
    assert (one.channel_id, where(one)) == (6, ["discord/6"])


def test_moving_a_feed_whose_destination_is_the_same_leaves_nothing(guild: Guild) -> None:
    one = add(guild)
    GuildFeed.objects.update(channel_id=7)
    feeds.move_feed(one, to=to_channel(5), now=NOW)
    one.refresh_from_db()
    assert (one.channel_id, where(one)) == (5, ["discord/5"])


def test_what_is_removed_twice_is_removed_once_and_its_feed_rests(guild: Guild) -> None:
    one = add(guild)
    assert feeds.remove_feed(one, now=NOW)
    assert not feeds.remove_feed(one, now=LATER)
    assert (where(one), Feed.objects.get().status) == ([], "stopped")
    assert BotFeed.objects.get().unused_since == NOW


def test_what_the_operators_newsletter_takes_is_read_on_when_the_last_server_leaves_it(guild: Guild) -> None:
    one = add(guild)
    SubscribableFactory(feeds=[one.feed])
    feeds.remove_feed(one, now=NOW)
    feed = Feed.objects.get()
    assert (feed.status, feed.for_letters, BotFeed.objects.count()) == ("active", True, 0)
    assert shared.give_over(now=NOW) == 0
    assert feeds.forget_old(now=LATER) == 1
    assert Feed.objects.get() == feed


def test_a_feed_that_the_operator_has_stopped_stays_stopped(guild: Guild) -> None:
    one = add(guild)
    SubscribableFactory(feeds=[one.feed])
    Feed.objects.update(status="stopped")
    feeds.remove_feed(one, now=NOW)
    shared.give_over(now=NOW)
    assert Feed.objects.get().status == "stopped"


def test_what_people_read_here_is_read_on_for_them_alone(guild: Guild) -> None:
    one = add(guild)
    follow(one.feed)
    feeds.remove_feed(one, now=NOW)
    assert Feed.objects.get().status == "active"
    assert shared.give_over(now=NOW) == 1
    feed = Feed.objects.get()
    assert (feed.status, feed.for_letters, BotFeed.objects.count()) == ("active", False, 0)


@pytest.mark.parametrize("by", ["a newsletter", "a reader"])
def test_what_is_wanted_again_after_servers_left_it_is_read_again(guild: Guild, by: str) -> None:
    one = add(guild)
    feeds.remove_feed(one, now=NOW)
    assert shared.give_over(now=NOW) == 0
    if by == "a reader":
        follow(one.feed)
    else:
        SubscribableFactory(feeds=[one.feed])
    feeds.forget_old(now=LATER)
    assert Feed.objects.exists()
    assert shared.give_over(now=LATER) == 1
    assert Feed.objects.get().status == "active"
    assert not BotFeed.objects.exists()


def test_a_month_later_it_is_forgotten(guild: Guild) -> None:
    feeds.remove_feed(add(guild), now=NOW)
    assert feeds.forget_old(now=LATER - timedelta(minutes=2)) == 0
    assert feeds.forget_old(now=LATER) == 2
    assert not GuildFeed.objects.exists()
    assert not Feed.objects.exists()


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


def test_what_is_beyond_a_days_posts_waits_till_midnight(service: DiscordService) -> None:
    BotSettings.objects.create(pk=1, posts_a_day=2)
    bridge = BridgeFactory(channel="discord_bot")
    to = DestinationFactory(kind="discord_bot", core=f"discord/{CHANNEL}", config={"channel_id": CHANNEL})
    SubscriptionFactory(subscribable=bridge, destination=to)
    GuildFeed.objects.create(
        guild=Guild.objects.create(pk=700, zone="Europe/Berlin"),
        number=1,
        subscribable=bridge,
        feed=FeedFactory(),
        channel_id=int(CHANNEL),
        added_by=1,
        interaction_id=1,
    )
    for _ in range(3):
        publish(issue_id=an_issue(posts=1, subscribable=bridge, published_at=None).pk, now=NOW)
    done = list(Delivery.objects.order_by("pk"))[:2]
    Delivery.objects.filter(pk__in=[row.pk for row in done]).update(
        state="sent", sent_at=NOW, remote_id="1/1"
    )
    assert keep_quotas(now=NOW) == 1
    assert Subscribable.objects.get(pk=bridge.pk).sending_paused_at == NOW
    for minutes in (0, 1):
        note_troubles(now=NOW + timedelta(minutes=minutes))
        post_alerts(clock=Clock(NOW + timedelta(minutes=minutes)))
    (message,) = service.messages
    assert "and 1 more" in message["content"]
    # NOW is noon in UTC: midnight in Berlin is eleven hours later.
    assert keep_quotas(now=NOW + timedelta(hours=10, minutes=59)) == 0
    assert Subscribable.objects.get(pk=bridge.pk).sending_paused_at is not None
    assert keep_quotas(now=NOW + timedelta(hours=11, minutes=1)) == 0
    assert Subscribable.objects.get(pk=bridge.pk).sending_paused_at is None
