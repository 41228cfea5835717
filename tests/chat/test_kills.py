"""A worker is killed between posting and recording: there is one message, now and an hour later."""

from datetime import timedelta

import pytest

from channels import channel
from chat.guilds.servers import ensure_account
from delivery.accounts.accounts import facts_of
from delivery.bridges.messages import recipient_at
from delivery.engine.claim import reap_expired
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.letters.build import issue_letter
from delivery.models import Delivery
from tests.delivery.ledger import MINUTE, Clock, claimed
from tests.factories import NOW, BridgeFactory, DestinationFactory, SubscriptionFactory, an_issue
from tests.servers.services.discord import CHANNEL, GUILD
from tests.servers.services.discord_client import DiscordService

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("minutes", [2, 60])
def test_there_is_one_message(minutes: int, service: DiscordService) -> None:
    ensure_account(now=NOW)
    service.now = NOW
    bridge = BridgeFactory(channel="discord_bot")
    config = {"account": "discord", "channel_id": CHANNEL, "guild_id": GUILD, "channel_type": "0"}
    to = DestinationFactory(kind="discord_bot", core=f"discord/{CHANNEL}", config=config)
    SubscriptionFactory(subscribable=bridge, destination=to)
    publish(issue_id=an_issue(posts=1, subscribable=bridge, published_at=None).pk, now=NOW)
    lane = Delivery.objects.get().lane
    (job,) = claimed(lane=lane)
    row = Delivery.objects.get(pk=job.pk)
    assert row.issue is not None
    # The dead worker had only posted.
    ours = channel("discord_bot")
    session = ours.connect(facts_of(lane))
    message = ours.compose(issue_letter(row.issue), recipient_at(to, delivery_id=row.pk))
    session.send(message, key="the-key-of-the-dead-worker", begun_at=None, now=NOW)
    session.close()
    assert len(service.messages) == 1
    service.forget_nonces()
    reap_expired(now=NOW + 2 * MINUTE)
    assert send_due(clock=Clock(NOW + timedelta(minutes=minutes))).sent == 1
    assert len(service.messages) == 1
    assert Delivery.objects.get().remote_id.endswith(service.messages[0]["id"])
