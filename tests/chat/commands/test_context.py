"""Reasons in a feed's line why its posts do not arrive."""

from collections.abc import Callable

import pytest

from chat.commands.context import feed_line
from chat.models import Guild, GuildFeed
from delivery.models import Lane
from subscriptions.models import Destination
from tests.factories import NOW, BridgeFactory, DestinationFactory, FeedFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db

Change = Callable[[GuildFeed], object]


def feed_fails(one: GuildFeed) -> None:
    one.feed.failures, one.feed.last_error = 3, "404 Not Found"


def feed_is(status: str) -> Change:
    return lambda one: setattr(one.feed, "status", status)


def feed_waits(one: GuildFeed) -> None:
    one.feed.held_since = NOW


def channel_refuses(one: GuildFeed) -> None:
    Destination.objects.update(disabled_at=NOW, disabled_reason="Missing Access")


def channel_refuses_for_now(one: GuildFeed) -> None:
    facts = {"refused_since": NOW, "free_at": NOW, "last_error": "Missing Permissions"}
    Lane.objects.create(kind="discord_bot", account="discord/5", **facts)


def it_is_paused(one: GuildFeed) -> None:
    one.subscribable.stopped = True


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: None, "<#5>"),
        (feed_fails, "can’t be fetched: 404 Not Found"),
        (feed_is("stopped"), "stopped"),
        (feed_is("paused"), "stopped"),
        (feed_waits, "waiting for your decision"),
        (channel_refuses, "Discord doesn’t allow posting there: Missing Access"),
        (
            channel_refuses_for_now,
            "Discord doesn’t allow posting there: Missing Permissions New posts are waiting. I’ll try again"
            " with the next post, or at once after `/feed resume`.",
        ),
        (it_is_paused, "paused"),
    ],
)
def test_a_line_ends_with_what_is_wrong(change: Change, said: str) -> None:
    bridge = BridgeFactory(channel="discord_bot")
    to = DestinationFactory(kind="discord_bot", core="discord/5", config={"channel_id": "5"})
    SubscriptionFactory(subscribable=bridge, destination=to)
    one = GuildFeed.objects.create(
        guild=Guild.objects.create(pk=700),
        number=3,
        subscribable=bridge,
        feed=FeedFactory(title="Owls"),
        channel_id=5,
        added_by=1,
        interaction_id=1,
    )
    change(one)
    line = feed_line(one)
    assert line.startswith("**3** · ")
    assert line.endswith(said)
