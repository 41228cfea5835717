"""A feed has a daily quota; the rest waits until midnight, with one message in the channel."""

from datetime import timedelta

import pytest

from chat.alerts.post import note_troubles, post_alerts
from chat.guilds.servers import keep_quotas
from chat.models import BotSettings, Guild, GuildFeed
from delivery.issues.publish import publish
from delivery.models import Delivery
from subscriptions.models import Subscribable
from tests.delivery.ledger import Clock
from tests.factories import NOW, BridgeFactory, DestinationFactory, FeedFactory, SubscriptionFactory, an_issue
from tests.servers.services.discord import CHANNEL
from tests.servers.services.discord_client import DiscordService

pytestmark = pytest.mark.django_db


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
