"""The later events, and the description of all: bodies match the OpenAPI schema."""

import json
from datetime import timedelta
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from common.clock import utcnow
from common.ports.events import EventKind
from delivery.api.serializers import body_schema
from delivery.issues.pause import retry_failed
from delivery.issues.publish import finish_issues
from delivery.models import Delivery, Issue, WebhookCall
from delivery.webhooks.outbox import add_webhook
from feeds.models import Item
from subscriptions.collections.assign import assign_item
from subscriptions.subscribers.admin_changes import pause, resume, save_details
from subscriptions.subscribers.tags import tag_people, untag_people
from tests.delivery.webhooks.test_outbox import noted, tell, types
from tests.factories import (
    NOW,
    BounceFactory,
    DeliveryFactory,
    FeedFactory,
    ItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
    an_issue,
)

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def webhook() -> Any:
    return add_webhook(name="CRM", url="https://crm.example/hook", events=list(EventKind), now=NOW)[0]


class TestChangesOfSubscriptions:
    def test_each_change_is_told_once_and_what_changes_nothing_is_not(self) -> None:
        row = SubscriptionFactory(display_name="Ada", language="")
        today = utcnow().date()
        for _ in range(2):
            save_details(subscription=row, name="Ada L.", language="de")
            save_details(subscription=row, name="Ada L.")
            pause(subscription=row, until=today + timedelta(days=9), now=utcnow())
        for _ in range(2):
            resume(subscription=row)
            save_details(subscription=row, tags=["vip"])
            tag_people(destinations=[row.destination_id], names=["vip", "news"])
        untag_people(destinations=[row.destination_id], names=["vip"])
        untag_people(destinations=[row.destination_id], names=["nobody has it"])
        assert set(types()) == {"subscription.updated"}
        told = [one["data"]["subscription"] for one in noted()]
        assert [(one["name"], one["language"], bool(one["paused_until"]), one["tags"]) for one in told] == [
            ("Ada L.", "de", False, []),
            ("Ada L.", "de", True, []),
            ("Ada L.", "de", False, []),
            ("Ada L.", "de", False, ["vip"]),
            ("Ada L.", "de", False, ["news", "vip"]),
            ("Ada L.", "de", False, ["vip"]),
            ("Ada L.", "de", False, ["news", "vip"]),
            ("Ada L.", "de", False, ["news"]),
        ]

    def test_of_one_that_has_ended_nothing_is_told(self) -> None:
        row = SubscriptionFactory(status="unsubscribed")
        save_details(subscription=row, tags=["vip"])
        save_details(subscription=row, name="Ada")
        assert types() == []


class TestFinishedIssues:
    def test_an_issue_is_told_of_once_when_its_last_letter_has_ended(self) -> None:
        issue = an_issue(posts=1, published_at=NOW)
        ends = [DeliveryFactory(issue=issue, state=state) for state in ("sent", "failed", "held")]
        assert finish_issues(now=NOW) == 0
        Delivery.objects.filter(pk=ends[2].pk).update(state="cancelled")
        assert [finish_issues(now=NOW), finish_issues(now=NOW)] == [1, 0]
        (told,) = noted()
        assert told["type"] == "issue.finished"
        assert told["data"]["issue"]["counts"] == {"sent": 1, "failed": 1, "cancelled": 1}
        retry_failed(issue_id=issue.pk, now=NOW)
        Delivery.objects.filter(state="queued").update(state="sent")
        assert finish_issues(now=NOW) == 0

    def test_drafts_and_what_waits_are_not_over(self) -> None:
        an_issue(posts=1, published_at=None)
        waiting = an_issue(posts=1, published_at=NOW)
        DeliveryFactory(issue=waiting, state="deferred")
        assert finish_issues(now=NOW) == 0
        assert not Issue.objects.exclude(finished_at=None).exists()


def test_a_post_is_told_of_when_it_has_settled() -> None:
    feed = FeedFactory(title="Tide")
    newsletter = SubscribableFactory(feeds=[feed])
    item = ItemFactory(feed=feed, title="Low tide", final_at=NOW)
    for _ in range(2):
        assign_item(item_id=item.pk, now=NOW)
    (told,) = noted()
    assert told["type"] == "post.new"
    assert told["data"]["post"]["title"] == "Low tide"
    assert told["data"]["newsletters"][0]["id"] == newsletter.pk
    assert Item.objects.get(pk=item.pk).state == "assigned"


def test_each_event_is_as_openapi_describes_it() -> None:
    feed = FeedFactory()
    subscription = SubscriptionFactory(subscribable=SubscribableFactory(feeds=[feed]))
    issue = an_issue(posts=1, published_at=NOW)
    item = ItemFactory(feed=feed)
    bounce = BounceFactory(delivery=DeliveryFactory(issue=issue, subscription=subscription))
    bounce.destination = subscription.destination
    bounce.save()
    keys = {"subscription": subscription.pk, "delivery": bounce.pk, "issue": issue.pk, "feed": feed.pk}
    for kind in EventKind:
        facts: dict[str, Any] = {"recipients": 3} if kind is EventKind.PUBLISHED else {}
        tell(kind, {**keys, "post": item.pk}[kind.partition(".")[0]], **facts)
    sent = {call.kind: json.loads(call.body) for call in WebhookCall.objects.all()}
    assert sent.keys() == set(EventKind)
    for kind in EventKind:
        jsonschema.validate(sent[kind], body_schema(kind))
        broken = {**sent[kind], "data": {}}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, body_schema(kind))
