"""Passes over a Mastodon instance: in order, a minute apart, and never twice."""

from datetime import timedelta
from html import escape
from typing import Any

import pytest

from channels.http.links import StatusLimits
from channels.letter import Recipient
from channels.mastodon.bridge import MastodonBridge
from channels.pictures import forget_pictures
from delivery.engine.claim import reap_expired
from delivery.engine.send_pass import send_due
from delivery.issues.publish import publish
from delivery.letters.build import issue_letter
from delivery.models import Delivery, IssueItem, Lane
from tests.delivery.ledger import MINUTE, SECOND, Clock, claimed
from tests.factories import NOW, BridgeFactory, DestinationFactory, SubscriptionFactory, an_issue
from tests.servers.mastodon_instance import TOKEN, MastodonInstance, Reply
from tests.servers.picture_host import PictureHost

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
