"""A server's feeds as rows: added once, found by typed text, moved, removed, forgotten."""

from datetime import timedelta
from typing import Any

import pytest

from chat.guilds import feeds, shared
from chat.models import BotFeed, BotSettings, Guild, GuildFeed
from common.ports.channels import ParsedDestination
from common.refused import Refused
from feeds.models import Feed
from reader.channels.follows import follow_feed
from reader.people.readers import add_reader
from subscriptions.models import Subscription
from tests.factories import NOW, SubscribableFactory

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
