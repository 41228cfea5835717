"""Passes over a Mastodon instance: in order, a minute apart, and never twice.

Discord's circuit breaker and deleted webhooks, by the engine and a fake Discord.
"""

from collections.abc import Iterator
from datetime import timedelta
from html import escape
from typing import Any

import pytest
from django.db import transaction

from channels.discord.service import BREAKER
from channels.http.links import StatusLimits
from channels.letter import Recipient
from channels.mastodon.bridge import MastodonBridge
from channels.pictures import forget_pictures
from common.clock import utcnow
from delivery.bridges.trial_posts import NotDone, delete_test, post_test
from delivery.engine.claim import reap_expired
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.lanes.lanes import count_refusals
from delivery.letters.build import issue_letter
from delivery.models import Account, Delivery, IssueItem, Lane, ServiceBreaker
from subscriptions.models import Subscription
from tests.channels.discord.letters import api_at, bots_recipient, webhook_recipient
from tests.delivery.ledger import MINUTE, SECOND, Clock, claimed
from tests.delivery.own_letters import a_read_feed
from tests.factories import NOW, BridgeFactory, DestinationFactory, SubscriptionFactory, an_issue
from tests.servers import api_server
from tests.servers.mastodon_instance import TOKEN, MastodonInstance, Reply
from tests.servers.picture_host import PictureHost
from tests.servers.services.discord import BOT_TOKEN, Discord

REFUSED = api_server.Reply(429, {"message": "You are being rate limited."}, {"Retry-After": "1"})
GONE = api_server.Reply(404, {"message": "Unknown Webhook", "code": 10015})
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback_allowed")]


def a_bridge_to(instance: MastodonInstance, *, issues: int = 1) -> Any:
    """Publish issues of one post each to one account, in order."""
    subscribable = BridgeFactory()
    destination = DestinationFactory(
        kind="mastodon",
        core="bot@fake.example",
        config={"account": "bot", "instance_url": instance.url},
        secrets={"access_token": TOKEN},
    )
    SubscriptionFactory(subscribable=subscribable, destination=destination)
    for _ in range(issues):
        issue = an_issue(posts=1, subscribable=subscribable, published_at=None)
        publish(issue_id=issue.pk, now=NOW)
    return subscribable


def send(minutes: float = 0) -> Any:
    return send_due(clock=Clock(NOW + timedelta(minutes=minutes)))


def links(instance: MastodonInstance) -> list[str]:
    return [status["text"].split()[-1] for status in instance.statuses]


def test_posts_come_in_order_a_minute_apart() -> None:
    with MastodonInstance() as instance:
        a_bridge_to(instance, issues=3)
        assert [send(minute).sent for minute in (0, 0.5, 1, 2, 3)] == [1, 0, 1, 1, 0]
        rows = Delivery.objects.order_by("pk")
        expected = [row.issue.issue_items.get().entry["link"] for row in rows if row.issue]
        assert links(instance) == expected
        assert [row.remote_id for row in rows] == [status["id"] for status in instance.statuses]


def test_an_answer_that_was_lost_posts_nothing_twice() -> None:
    with MastodonInstance() as instance:
        a_bridge_to(instance)
        instance.says = Reply(takes=True, hangs_up=True)
        assert send().deferred == 1
        assert Delivery.objects.get().begun_at == NOW
        instance.says = None
        assert send(2).sent == 1
        assert len(instance.statuses) == 1


def test_a_picture_that_is_being_prepared_is_waited_for_and_uploaded_once() -> None:
    forget_pictures()
    with MastodonInstance() as instance, PictureHost() as host:
        instance.scopes, instance.media_looks = ["read", "write"], 1
        a_bridge_to(instance)
        item = IssueItem.objects.get()
        item.entry["media"] = [{"url": host.drawn().url, "type": "image/png", "length": None, "alt": "A bee"}]
        item.save()
        assert [send(minute).sent for minute in (0, 0.2, 0.4)] == [0, 0, 1]
        [status] = instance.statuses
        assert [medium["description"] for medium in status["media_attachments"]] == ["A bee"]
        assert len(instance.asked("/api/v2/media")) == 1
        row = Delivery.objects.get()
        assert row.begun_at is None
        assert row.remote_post.url == status["url"]


def test_a_worker_that_died_while_posting_is_followed_by_one_that_looks() -> None:
    """After an hour, when the idempotency key has expired."""
    with MastodonInstance() as instance:
        a_bridge_to(instance)
        (job,) = claimed()
        _post_as(instance, Delivery.objects.get(pk=job.pk))
        reap_expired(now=NOW + 2 * MINUTE)
        assert send(60).sent == 1
        assert len(instance.statuses) == 1
        assert Delivery.objects.get().remote_id == instance.statuses[0]["id"]


def _post_as(instance: MastodonInstance, row: Delivery) -> None:
    """Post the message of the dead worker."""
    assert row.issue is not None
    reader = Recipient(row.pk, row.destination.core, "")
    status = MastodonBridge().compose(issue_letter(row.issue), reader).body
    [whole] = status.texts(StatusLimits())
    text = whole.removesuffix(status.link)
    instance.statuses.append(
        {
            "id": "900",
            "created_at": (NOW + SECOND).isoformat(),
            "content": f'<p>{escape(text)}<a href="{status.link}">{status.link}</a></p>',
            "text": whole,
        }
    )


def test_an_instance_that_is_busy_makes_its_lane_rest_and_no_other() -> None:
    with MastodonInstance() as instance:
        a_bridge_to(instance, issues=2)
        instance.says = Reply(429, {"error": "Too many requests"}, {"Retry-After": "1800"})
        assert send().sent == 0
        lane = Lane.objects.get()
        assert lane.free_at is not None
        assert lane.free_at >= NOW + 30 * MINUTE
        instance.says = None
        assert send(29).sent == 0
        assert [send(31).sent, send(33).sent] == [1, 1]
        assert len(instance.statuses) == 2


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


def send_after(minutes: float = 0) -> None:
    send_due(clock=Clock(NOW + timedelta(minutes=minutes)))


def nearly_too_much() -> None:
    with transaction.atomic():
        count_refusals({"discord": BREAKER.refusals - 1}, said="", now=NOW)


def test_one_refusal_too_many_stops_webhooks_and_bots_and_nothing_is_lost(discord: Discord) -> None:
    nearly_too_much()
    first, second = publish_to(bridge_to("discord")), publish_to(bridge_to("discord_bot"))
    discord.says = REFUSED
    send_after()
    on_their_way = len(discord.requests)
    assert on_their_way <= 2
    for minutes in (1, 5, 9.9):
        send_after(minutes)
    assert len(discord.requests) == on_their_way
    discord.says = None
    for number in range(6):
        send_after(10.2 + number)
    assert len(discord.messages) == 2
    assert {row.state for row in Delivery.objects.filter(pk__in=[first.pk, second.pk])} == {"sent"}


def test_each_refused_request_is_a_refusal(discord: Discord) -> None:
    publish_to(bridge_to("discord"))
    discord.says = api_server.Reply(403, {"message": "Blocked by AutoMod", "code": 200000})
    send_after()
    assert len(discord.requests) == 2
    assert [number for _, number in ServiceBreaker.objects.get().recent] == [2]


def test_a_success_and_a_failure_of_its_own_count_nothing(discord: Discord) -> None:
    bridge = bridge_to("discord")
    publish_to(bridge)
    send_after()
    publish_to(bridge)
    discord.says = api_server.Reply(503, "down")
    send_after(1)
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
    send_after(5)
    row.refresh_from_db()
    assert (row.state, len(discord.requests)) == ("failed", 2)
    assert "Unknown Webhook" in row.last_error
    publish(issue_id=an_issue(posts=1, subscribable=bridge.subscribable, published_at=None).pk, now=NOW)
    assert not Delivery.objects.waiting().exists()
    # Retried by hand, or published just before it was refused.
    Delivery.objects.filter(pk=row.pk).update(state="queued")
    for minutes in (10, 60, 600):
        send_after(minutes)
    with pytest.raises(NotDone, match=r"Nothing is posted to Bees: .*Unknown Webhook.* again first"):
        post_test(subscription=Subscription.objects.get(), now=utcnow())
    with pytest.raises(NotDone, match="Connect it again first"):
        delete_test(delivery=Delivery.objects.get(pk=standing.pk), now=utcnow())
    assert len(discord.requests) == 2
    row.refresh_from_db()
    assert (row.state, "disabled" in row.last_error) == ("cancelled", True)
