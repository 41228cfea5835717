"""Events are recorded for the webhooks that want them, in their own transaction.

The later events, and the description of all: bodies match the OpenAPI schema.
"""

import json
from datetime import timedelta
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from common.clock import utcnow
from common.ports.events import Event, EventKind, NoTransaction, emit
from delivery.alerts.messages import tell_admins
from delivery.api.serializers import body_schema
from delivery.bounces.fields import BounceFinding
from delivery.bounces.record import take_finding
from delivery.issues.pause import retry_failed
from delivery.issues.publish import approve_issue, finish_issues
from delivery.models import Delivery, Issue, WebhookCall
from delivery.resources.webhooks import webhooks
from delivery.rules.bounce_policy import BounceKind
from delivery.webhooks.calls import WebhookResponse, claim_calls, record_response
from delivery.webhooks.outbox import add_webhook
from feeds.models import Feed, Item
from subscriptions.collections.assign import assign_item
from subscriptions.models import Subscription
from subscriptions.subscribers.admin_changes import pause, resume, save_details, subscribe
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.tags import tag_people, untag_people
from tests.factories import (
    NOW,
    BounceFactory,
    DeliveryFactory,
    FeedFactory,
    IssueFactory,
    ItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
    an_issue,
)

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture
def webhook() -> Any:
    return add_webhook(name="CRM", url="https://crm.example/hook", events=list(EventKind), now=NOW)[0]


def noted() -> list[dict[str, Any]]:
    return [json.loads(body) for body in WebhookCall.objects.order_by("pk").values_list("body", flat=True)]


def types() -> list[str]:
    return [each["type"] for each in noted()]


def tell(kind: EventKind, *keys: int, **facts: Any) -> None:
    with transaction.atomic():
        emit(Event(kind, keys, NOW, facts))


@pytest.mark.usefixtures("webhook")
def test_of_a_subscriber_ids_address_and_newsletter_are_told_and_no_token() -> None:
    row = SubscriptionFactory(
        subscribable=SubscribableFactory(name="weekly", title="The Weekly"),
        destination__core="ada@example.org",
        display_name="Ada",
        language="de",
    )
    tell(EventKind.CONFIRMED, row.pk)
    assert noted() == [
        {
            "type": "subscription.confirmed",
            "timestamp": "2026-03-02T12:00:00+00:00",
            "version": 1,
            "data": {
                "subscription": {
                    "id": row.pk,
                    "status": "confirmed",
                    "name": "Ada",
                    "language": "de",
                    "added_at": "2026-03-01T12:00:00+00:00",
                    "confirmed_at": "2026-03-01T12:00:00+00:00",
                    "left_at": None,
                    "paused_until": None,
                    "tags": [],
                },
                "subscriber": {"id": row.destination_id, "kind": "email", "address": "ada@example.org"},
                "newsletter": {"id": row.subscribable_id, "name": "weekly", "title": "The Weekly"},
            },
        }
    ]
    assert row.token not in WebhookCall.objects.get().body


@pytest.mark.usefixtures("webhook")
def test_a_subscriber_is_told_of_from_the_first_wish_to_the_leaving() -> None:
    letter = SubscribableFactory()
    who: Any = {"subscribable": letter, "data": {"email": "ada@example.org"}}
    for _ in range(2):
        subscribe(**who, now=utcnow(), confirmed=False)
    assert types() == ["subscription.created"]
    for _ in range(2):
        subscription = subscribe(**who, now=utcnow())
    for _ in range(2):
        leave(subscription=subscription, now=utcnow())
    assert types() == ["subscription.created", "subscription.confirmed", "subscription.left"]
    assert noted()[-1]["data"]["subscription"]["status"] == "unsubscribed"


@pytest.mark.usefixtures("webhook")
def test_an_issue_is_told_of_once_when_it_is_published_with_how_many_get_it() -> None:
    issue = an_issue(posts=3, published_at=None)
    SubscriptionFactory.create_batch(2, subscribable=issue.subscribable)
    DeliveryFactory(issue=IssueFactory(subscribable=issue.subscribable))  # makes the lane
    expected = Subscription.objects.filter(subscribable=issue.subscribable).count()
    assert types() == []
    approve_issue(issue_id=issue.pk, now=NOW)
    (told,) = noted()
    assert told["type"] == "issue.published"
    assert told["data"]["issue"]["recipients"] == expected
    assert told["data"]["issue"]["posts"] == 3
    assert told["data"]["issue"]["url"].endswith(f"/archive/{issue.pk}/")
    assert Issue.objects.get(pk=issue.pk).published_at == NOW


@pytest.mark.usefixtures("webhook")
@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (BounceKind.HARD, ["delivery.bounced"]),
        (BounceKind.COMPLAINT, ["subscription.left", "delivery.bounced"]),
        (BounceKind.DELAYED, []),
    ],
)
def test_a_bounce_is_told_of_once_and_a_delay_is_none(kind: BounceKind, expected: list[str]) -> None:
    delivery = DeliveryFactory(state="sent", sent_at=NOW)
    finding = BounceFinding(kind, (delivery.destination.core,), "5.1.1", "550 5.1.1 No such user")
    for _ in range(2):
        take_finding(delivery=delivery, finding=finding, digest="one", now=NOW)
    assert types() == expected
    if kind is BounceKind.HARD:
        said = noted()[0]["data"]
        assert (said["bounce"]["kind"], said["bounce"]["said"]) == ("hard", "550 5.1.1 No such user")
        assert said["subscriber"]["address"] == delivery.destination.core
        assert said["newsletter"]["id"] == delivery.issue.subscribable_id


@pytest.mark.usefixtures("webhook")
def test_a_feed_is_told_of_when_it_fails_and_when_it_is_back_even_if_no_admin_has_an_address() -> None:
    FeedFactory.create_batch(3)
    feed = FeedFactory(
        failures=9,
        failing_since=NOW - DAY,
        last_polled_at=NOW - DAY / 24,
        next_poll_at=NOW + DAY,
        last_error="The server answered with an error (HTTP 500).",
    )
    newsletter = SubscribableFactory(feeds=[feed])
    for minute in range(3):
        tell_admins(now=NOW + timedelta(minutes=minute))
    (told,) = noted()
    assert told["type"] == "feed.failing"
    assert told["data"]["gone"] is False
    assert told["data"]["feed"]["error"] == "The server answered with an error (HTTP 500)."
    assert [one["id"] for one in told["data"]["newsletters"]] == [newsletter.pk]
    Feed.objects.filter(pk=feed.pk).update(
        failures=0, failing_since=None, last_error="", fetched_through=NOW + DAY
    )
    for minute in range(3):
        tell_admins(now=NOW + DAY + timedelta(minutes=minute))
    assert types() == ["feed.failing", "feed.recovered"]


def test_without_webhooks_nothing_is_noted_and_one_question_is_asked() -> None:
    """Another is for the reader's channels by email."""
    keys = [SubscriptionFactory().pk for _ in range(3)]
    with transaction.atomic(), CaptureQueriesContext(connection) as asked:
        emit(Event(EventKind.LEFT, tuple(keys), NOW))
    assert len(asked) == 2
    assert not WebhookCall.objects.exists()


@pytest.mark.usefixtures("webhook")
def test_many_at_once_are_noted_by_few_statements() -> None:
    letter = SubscribableFactory()
    keys = [SubscriptionFactory(subscribable=letter).pk for _ in range(30)]
    with transaction.atomic(), CaptureQueriesContext(connection) as asked:
        emit(Event(EventKind.LEFT, tuple(keys), NOW))
    assert len(asked) == 6
    assert len(noted()) == 30


def test_a_webhook_hears_only_what_it_chose_and_of_its_newsletters() -> None:
    mine, other = SubscriptionFactory(), SubscriptionFactory()
    issue = IssueFactory(subscribable=mine.subscribable)
    add_webhook(
        name="CRM",
        url="https://crm.example/hook",
        events=["subscription.left", "issue.published"],
        newsletters=[mine.subscribable],
        now=NOW,
    )
    tell(EventKind.CONFIRMED, mine.pk)
    tell(EventKind.LEFT, mine.pk, other.pk)
    tell(EventKind.PUBLISHED, issue.pk)
    assert types() == ["subscription.left", "issue.published"]


def test_two_webhooks_hear_of_an_event_under_one_id(webhook: Any) -> None:
    add_webhook(name="Shop", url="https://shop.example/hook", events=list(EventKind), now=NOW)
    paused, _ = add_webhook(name="Old", url="https://old.example/hook", events=list(EventKind), now=NOW)
    webhooks.pause(paused)
    tell(EventKind.CONFIRMED, SubscriptionFactory().pk)
    assert WebhookCall.objects.count() == 2
    assert WebhookCall.objects.values("event_id").distinct().count() == 1


@pytest.mark.usefixtures("commits")
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("webhook")
def test_what_is_undone_was_never_told() -> None:
    row = SubscriptionFactory()
    with transaction.atomic():
        emit(Event(EventKind.LEFT, (row.pk,), NOW))
        transaction.set_rollback(True)
    assert noted() == []
    with pytest.raises(NoTransaction):
        emit(Event(EventKind.LEFT, (row.pk,), NOW))


@pytest.mark.usefixtures("webhook")
def test_of_who_is_erased_others_hear_that_they_left_and_then_nothing_stays() -> None:
    row = SubscriptionFactory()
    tell(EventKind.LEFT, row.pk, how="erased")
    row.destination.delete()
    call = WebhookCall.objects.get()
    assert "erased" in call.body
    (job,) = claim_calls(now=NOW, busy={})
    record_response(job=job, answer=WebhookResponse(500, "HTTP 500."), now=NOW)
    assert WebhookCall.objects.get().body == call.body
    (job,) = claim_calls(now=NOW + DAY, busy={})
    record_response(job=job, answer=WebhookResponse(204), now=NOW + DAY)
    assert (WebhookCall.objects.get().state, WebhookCall.objects.get().body) == ("sent", "")


@pytest.fixture
def described_webhook() -> Any:
    return add_webhook(name="CRM", url="https://crm.example/hook", events=list(EventKind), now=NOW)[0]


@pytest.mark.usefixtures("described_webhook")
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


@pytest.mark.usefixtures("described_webhook")
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


@pytest.mark.usefixtures("described_webhook")
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


@pytest.mark.usefixtures("described_webhook")
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
