"""Discord's circuit breaker and deleted webhooks, by the engine and a fake Discord."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from channels.discord.service import BREAKER
from common.clock import utcnow
from delivery.bridges.trial_posts import NotDone, delete_test, post_test
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.lanes.lanes import count_refusals
from delivery.models import Account, Delivery, ServiceBreaker
from subscriptions.models import Subscription
from tests.channels.discord.letters import api_at, bots_recipient, webhook_recipient
from tests.delivery.ledger import Clock
from tests.delivery.own_letters import a_read_feed
from tests.factories import NOW, BridgeFactory, DestinationFactory, SubscriptionFactory, an_issue
from tests.servers.api_server import Reply
from tests.servers.services.discord import BOT_TOKEN, Discord

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback_allowed")]
REFUSED = Reply(429, {"message": "You are being rate limited."}, {"Retry-After": "1"})
GONE = Reply(404, {"message": "Unknown Webhook", "code": 10015})


@pytest.fixture
def discord(settings: Any) -> Iterator[Discord]:
    with Discord() as server:
        settings.DISCORD_API_URL = api_at(server.url)
        yield server


def bridge_to(kind: str) -> Subscription:
    to = webhook_recipient() if kind == "discord" else bots_recipient()
    if kind == "discord_bot":
        token: Any = {"token": BOT_TOKEN}
        Account.objects.create(name="bees", kind=kind, secrets=token)
    kept = {"config": dict(to.config), "secrets": dict(to.secrets)}
    destination = DestinationFactory(kind=kind, core=to.core, label=to.label, **kept)
    made: Subscription = SubscriptionFactory(
        subscribable=BridgeFactory(channel=kind, feeds=[a_read_feed()]), destination=destination
    )
    return made


def publish_to(bridge: Subscription) -> Delivery:
    issue = an_issue(posts=1, subscribable=bridge.subscribable, published_at=None)
    publish(issue_id=issue.pk, now=NOW)
    return Delivery.objects.get(issue=issue)


def send(minutes: float = 0) -> None:
    send_due(clock=Clock(NOW + timedelta(minutes=minutes)))


def nearly_too_much() -> None:
    with transaction.atomic():
        count_refusals({"discord": BREAKER.refusals - 1}, said="", now=NOW)


def test_one_refusal_too_many_stops_webhooks_and_bots_and_nothing_is_lost(discord: Discord) -> None:
    nearly_too_much()
    first, second = publish_to(bridge_to("discord")), publish_to(bridge_to("discord_bot"))
    discord.says = REFUSED
    send()
    on_their_way = len(discord.requests)
    assert on_their_way <= 2
    for minutes in (1, 5, 9.9):
        send(minutes)
    assert len(discord.requests) == on_their_way
    discord.says = None
    for number in range(6):
        send(10.2 + number)
    assert len(discord.messages) == 2
    assert {row.state for row in Delivery.objects.filter(pk__in=[first.pk, second.pk])} == {"sent"}


def test_each_refused_request_is_a_refusal(discord: Discord) -> None:
    publish_to(bridge_to("discord"))
    discord.says = Reply(403, {"message": "Blocked by AutoMod", "code": 200000})
    send()
    assert len(discord.requests) == 2
    assert [number for _, number in ServiceBreaker.objects.get().recent] == [2]


def test_a_success_and_a_failure_of_its_own_count_nothing(discord: Discord) -> None:
    bridge = bridge_to("discord")
    publish_to(bridge)
    send()
    publish_to(bridge)
    discord.says = Reply(503, "down")
    send(1)
    assert len(discord.requests) == 2
    assert not ServiceBreaker.objects.exists()


@pytest.mark.django_db
def test_a_test_post_counts_too_and_waits_for_the_rest(discord: Discord) -> None:
    bridge = bridge_to("discord")
    with transaction.atomic():
        count_refusals({"discord": BREAKER.refusals - 1}, said="", now=utcnow())
    discord.says = REFUSED
    for words in ("rate limited", "refused 2,000 requests"):
        with pytest.raises(NotDone, match=words):
            post_test(subscription=bridge, now=utcnow())
    assert len(discord.requests) == 1


def test_a_webhook_that_is_gone_is_never_called_again(discord: Discord) -> None:
    bridge = bridge_to("discord")
    standing = post_test(subscription=bridge, now=utcnow())
    row = publish_to(bridge)
    discord.says = GONE
    send(5)
    row.refresh_from_db()
    assert (row.state, len(discord.requests)) == ("failed", 2)
    assert "Unknown Webhook" in row.last_error
    publish(issue_id=an_issue(posts=1, subscribable=bridge.subscribable, published_at=None).pk, now=NOW)
    assert not Delivery.objects.waiting().exists()
    # Retried by hand, or published just before it was refused.
    Delivery.objects.filter(pk=row.pk).update(state="queued")
    for minutes in (10, 60, 600):
        send(minutes)
    with pytest.raises(NotDone, match=r"Nothing is posted to Bees: .*Unknown Webhook.* again first"):
        post_test(subscription=Subscription.objects.get(), now=utcnow())
    with pytest.raises(NotDone, match="Connect it again first"):
        delete_test(delivery=Delivery.objects.get(pk=standing.pk), now=utcnow())
    assert len(discord.requests) == 2
    row.refresh_from_db()
    assert (row.state, "disabled" in row.last_error) == ("cancelled", True)
