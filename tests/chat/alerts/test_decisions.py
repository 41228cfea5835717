"""Floods are held, and a server's people decide in their log channel."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from chat.alerts.post import apply_decisions, note_troubles, post_alerts
from chat.models import BotFeed, Guild, GuildFeed, ServerAlert
from common.clock import utcnow
from feeds.items.alerts import is_any_wanting
from feeds.models import Feed, Item
from subscriptions.models import LeftOut, Subscribable
from tests.delivery.ledger import Clock
from tests.factories import FeedFactory, ItemFactory
from tests.servers.services.discord import CHANNEL, GUILD
from tests.servers.services.discord_client import DiscordClient, DiscordService

pytestmark = pytest.mark.django_db
LOG = "1200000000000000008"


def a_held_feed(*guilds: int, posts: int = 5) -> list[GuildFeed]:
    """Return a feed of these servers with so many held posts; the newest has the highest number."""
    now = utcnow()
    feed = FeedFactory(held_since=now)
    BotFeed.objects.create(feed=feed)
    for number in range(1, posts + 1):
        ItemFactory(
            feed=feed, title=f"Post {number}", held_at=now, published_at=now - timedelta(hours=posts - number)
        )
    made = []
    for number, guild in enumerate(guilds, 1):
        row, _ = Guild.objects.get_or_create(pk=guild)
        bridge = Subscribable.objects.create(name=f"d-{guild}-{number}", title="Bees", channel="discord_bot")
        bridge.feeds.add(feed)
        made.append(
            GuildFeed.objects.create(
                guild=row,
                number=1,
                subscribable=bridge,
                feed=feed,
                channel_id=int(CHANNEL),
                added_by=1,
                interaction_id=number,
            )
        )
    return made


def told(now: datetime | None = None) -> None:
    at = now or utcnow()
    note_troubles(now=at)
    post_alerts(clock=Clock(at))


def buttons(message: dict[str, Any]) -> dict[str, str]:
    return {part["label"]: part["custom_id"] for row in message["components"] for part in row["components"]}


def released() -> list[str]:
    held = Item.objects.filter(held_at=None, state=Item.State.UNASSIGNED)
    return sorted(held.values_list("title", flat=True))


def test_it_is_asked_once_in_the_log_channel(service: DiscordService, ada: DiscordClient) -> None:
    a_held_feed(int(GUILD))
    service.channels[LOG] = GUILD
    Guild.objects.update(log_channel=int(LOG))
    told()
    told(utcnow() + timedelta(minutes=1))
    (message,) = service.messages
    assert message["channel_id"] == LOG
    assert "5 new posts" in message["content"]


@pytest.mark.parametrize(
    ("label", "titles"),
    [
        ("Post newest 3", ["Post 3", "Post 4", "Post 5"]),
        ("Post all", [f"Post {number}" for number in range(1, 6)]),
        ("Skip them", []),
    ],
)
def test_a_button_decides(label: str, titles: list[str], service: DiscordService, ada: DiscordClient) -> None:
    a_held_feed(int(GUILD))
    told()
    (message,) = service.messages
    assert ada.press_id(buttons(message)[label])["type"] == 7
    assert apply_decisions(now=utcnow()) == 1
    assert released() == titles
    assert Feed.objects.get().held_since is None
    ada.press_id(buttons(message)["Post all"])
    assert "already decided" in ada.said


def test_a_feed_of_two_servers_waits_for_both_and_each_gets_what_it_chose(
    service: DiscordService, ada: DiscordClient
) -> None:
    service.channels["1200000000000000009"] = "701"
    (one, two) = a_held_feed(int(GUILD), 701)
    GuildFeed.objects.filter(pk=two.pk).update(channel_id=1200000000000000009)
    told()
    mine, theirs = service.messages
    ada.press_id(buttons(mine)["Skip them"])
    assert apply_decisions(now=utcnow()) == 0
    bob = DiscordClient(service, guild="701", person="43")
    bob.press_id(buttons(theirs)["Post newest 3"])
    assert apply_decisions(now=utcnow()) == 1
    assert released() == ["Post 3", "Post 4", "Post 5"]
    left = LeftOut.objects.filter(by_hand=True)
    assert left.filter(subscribable=one.subscribable).count() == 5
    assert left.filter(subscribable=two.subscribable).count() == 2


def test_another_servers_button_decides_nothing(service: DiscordService) -> None:
    a_held_feed(int(GUILD))
    told()
    DiscordClient(service, guild="701").press_id(buttons(service.messages[0])["Post all"])
    assert ServerAlert.objects.get().decision == ""


def test_after_two_days_they_are_left_out(service: DiscordService) -> None:
    a_held_feed(int(GUILD))
    told()
    assert apply_decisions(now=utcnow() + timedelta(hours=47)) == 0
    assert apply_decisions(now=utcnow() + timedelta(hours=49)) == 1
    assert released() == []
    assert Feed.objects.get().held_since is None


def test_a_worker_that_died_between_posting_and_recording_posts_one_message(
    service: DiscordService, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_held_feed(int(GUILD))
    note_troubles(now=utcnow())
    usual = ServerAlert.objects.filter

    def dies(self: Any, **changes: Any) -> int:
        if changes.get("state") == ServerAlert.State.POSTED:
            raise SystemExit
        return int(original(self, **changes))

    original = type(usual()).update
    with monkeypatch.context() as patch:
        patch.setattr(type(usual()), "update", dies)
        with pytest.raises(SystemExit):
            post_alerts()
    assert len(service.messages) == 1
    assert post_alerts() == 0
    assert post_alerts(clock=Clock(utcnow() + timedelta(minutes=2))) == 1
    assert len(service.messages) == 1


def test_a_feed_that_fails_for_a_day_is_told_once_and_to_its_servers_only(service: DiscordService) -> None:
    (one,) = a_held_feed(int(GUILD), posts=1)
    long_ago = utcnow() - timedelta(days=2)
    changes = {"held_since": None, "failures": 9, "failing_since": long_ago, "last_error": "No route to host"}
    Feed.objects.update(**changes)
    told()
    told(utcnow() + timedelta(hours=5))
    (message,) = service.messages
    assert "couldn’t be fetched for a day" in message["content"]
    assert not is_any_wanting(utcnow())
    assert one.feed.pk


def test_a_server_is_told_three_troubles_a_day(service: DiscordService) -> None:
    (one,) = a_held_feed(int(GUILD), posts=1)
    Feed.objects.update(held_since=None)
    long_ago = utcnow() - timedelta(days=2)
    for number in range(2, 7):
        feed = FeedFactory(failures=9, failing_since=long_ago, last_error="gone")
        bridge = Subscribable.objects.create(name=f"d-{number}", title="Bees", channel="discord_bot")
        GuildFeed.objects.create(
            guild=one.guild,
            number=number,
            subscribable=bridge,
            feed=feed,
            channel_id=int(CHANNEL),
            added_by=1,
            interaction_id=number,
        )
    told()
    assert len(service.messages) == 3
