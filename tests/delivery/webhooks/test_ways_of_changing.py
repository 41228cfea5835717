"""Every way of changing a subscription notifies webhooks, once."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from common.clock import utcnow
from common.ports.events import EventKind
from delivery.models import WebhookCall
from delivery.webhooks.outbox import add_webhook
from feeds.models import Feed
from subscriptions import links
from subscriptions.collections.assign import assign_item
from subscriptions.collections.post_rules import add_rule
from subscriptions.models import Notice, Subscription
from subscriptions.subscribers.address_change import ask_for_change, confirm_change, undo_change
from subscriptions.subscribers.tags import tag_people
from tests.api import Api
from tests.delivery.webhooks.test_outbox import noted, types
from tests.factories import NOW, FeedFactory, ItemFactory, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db
LIST = "/admin/subscriptions/subscription/"
SOON = (utcnow() + timedelta(days=9)).date().isoformat()


@pytest.fixture(autouse=True)
def webhook() -> Any:
    return add_webhook(name="CRM", url="https://crm.example/hook", events=list(EventKind), now=NOW)[0]


@pytest.fixture
def row() -> Subscription:
    made: Subscription = SubscriptionFactory(destination__core="ada@old.example", display_name="Ada")
    tag_people(destinations=[made.destination_id], names=["news"])
    WebhookCall.objects.all().delete()
    return made


def save_form(admin: Client, row: Subscription, **data: str) -> Any:
    return admin.post(f"{LIST}{row.pk}/change/", {"display_name": "Ada", "language": "", **data})


def run_action(admin: Client, row: Subscription, name: str, tags: str) -> Any:
    given = {"action": name, "_selected_action": row.pk, "index": 0, "confirmed": "1", "with-names": tags}
    return admin.post(LIST, given)


def patch(row: Subscription, **asked: Any) -> Any:
    return Api().patch(f"subscriptions/{row.pk}/", **asked)


def post(row: Subscription, verb: str, **asked: Any) -> Any:
    return Api().post(f"subscriptions/{row.pk}/{verb}/", **asked)


def manage(row: Subscription, **data: str) -> Any:
    return Client().post("/" + links.manage_url(row).split("/", 3)[3], data)


def as_told(event: dict[str, Any]) -> tuple[str, str, bool, list[str]]:
    about = event["data"]["subscription"]
    return about["name"], about["language"], bool(about["paused_until"]), about["tags"]


WAYS: dict[str, tuple[Callable[[Client, Subscription], Any], tuple[str, str, bool, list[str]]]] = {
    "form: name and language": (
        lambda admin, row: save_form(admin, row, display_name="Ada L.", language="de"),
        ("Ada L.", "de", False, ["news"]),
    ),
    "form: language": (
        lambda admin, row: save_form(admin, row, language="de"),
        ("Ada", "de", False, ["news"]),
    ),
    "action: tag": (
        lambda admin, row: run_action(admin, row, "add_tags", "press, vip"),
        ("Ada", "", False, ["news", "press", "vip"]),
    ),
    "action: untag": (
        lambda admin, row: run_action(admin, row, "remove_tags", "news"),
        ("Ada", "", False, []),
    ),
    "api: all": (
        lambda _, row: patch(row, name="Ada L.", language="de", tags=["vip"]),
        ("Ada L.", "de", False, ["vip"]),
    ),
    "api: language": (lambda _, row: patch(row, language="de"), ("Ada", "de", False, ["news"])),
    "api: tags": (lambda _, row: patch(row, tags=["vip"]), ("Ada", "", False, ["vip"])),
    "api: pause": (lambda _, row: post(row, "pause", until=SOON), ("Ada", "", True, ["news"])),
    "page: details": (
        lambda _, row: manage(row, act="details", name="Ada L.", language="de"),
        ("Ada L.", "de", False, ["news"]),
    ),
    "page: pause": (lambda _, row: manage(row, act="pause", until=SOON), ("Ada", "", True, ["news"])),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_change_is_told_once_as_it_is_then_and_not_again(
    way: str, admin_client: Client, row: Subscription
) -> None:
    change, expected = WAYS[way]
    for _ in range(2):
        answer = change(admin_client, row)
        assert answer.status_code < 400, answer.content
        assert types() == ["subscription.updated"]
    assert as_told(noted()[0]) == expected


@pytest.mark.parametrize("resume", [lambda row: post(row, "resume"), lambda row: manage(row, act="resume")])
def test_the_end_of_a_pause_is_told_once(resume: Callable[[Subscription], Any], row: Subscription) -> None:
    Subscription.objects.update(paused_until=utcnow() + timedelta(days=3))
    for _ in range(2):
        assert resume(row).status_code < 400
        assert types() == ["subscription.updated"]
    assert as_told(noted()[0])[2] is False


def test_the_events_of_a_changed_address_and_of_its_undoing_add_up_to_the_subscriptions_there_are(
    row: Subscription,
) -> None:
    # One moves. The other has a duplicate at the new address already, with another tag.
    other = SubscriptionFactory(destination=row.destination)
    there = SubscriptionFactory(subscribable=other.subscribable, destination__core="ada@new.example")
    tag_people(destinations=[there.destination_id], names=["vip"])
    heard = current()

    def hear() -> None:
        for event in noted()[len(told) :]:
            told.append(event["type"])
            about = event["data"]["subscription"]
            key = (about["id"], event["data"]["subscriber"]["address"])
            if event["type"] == "subscription.left":
                heard.pop(key)
            else:
                heard[key] = about["tags"]
        assert heard == current()

    told = types()
    ask_for_change(reader=row.destination, email="ada@new.example", ip="192.0.2.1", now=NOW, language="")
    confirm_change(token=latest_token(), now=NOW + timedelta(minutes=5))
    hear()
    assert heard.keys() == {(row.pk, "ada@new.example"), (there.pk, "ada@new.example")}
    undo_change(token=latest_token(), now=NOW + timedelta(days=1))
    hear()
    assert heard.keys() >= {(row.pk, "ada@old.example"), (other.pk, "ada@old.example")}


def current() -> dict[tuple[int, str], list[str]]:
    rows = Subscription.objects.confirmed().select_related("destination")
    return {
        (row.pk, row.destination.core): sorted(row.destination.taggings.values_list("tag__name", flat=True))
        for row in rows
    }


def latest_token() -> str:
    context = Notice.objects.latest("pk").context
    return str(context.get("change_url") or context["undo_url"]).rstrip("/").rpartition("/")[2]


class TestPosts:
    @pytest.fixture
    def feed(self) -> Feed:
        made: Feed = FeedFactory()
        return made

    def test_a_post_that_no_newsletter_takes_is_not_told(self, feed: Feed) -> None:
        assign_item(item_id=ItemFactory(feed=feed, final_at=NOW).pk, now=NOW)
        assert types() == []

    def test_a_post_is_told_with_the_newsletters_that_take_it(self, feed: Feed) -> None:
        takes = SubscribableFactory(feeds=[feed])
        add_rule(subscribable=SubscribableFactory(feeds=[feed]), action="drop", pattern="tide")
        assign_item(item_id=ItemFactory(feed=feed, title="Low tide", final_at=NOW).pk, now=NOW)
        (told,) = noted()
        assert [each["id"] for each in told["data"]["newsletters"]] == [takes.pk]

    def test_a_post_that_every_newsletter_leaves_out_is_not_told(self, feed: Feed) -> None:
        add_rule(subscribable=SubscribableFactory(feeds=[feed]), action="drop", pattern="tide")
        assign_item(item_id=ItemFactory(feed=feed, title="Low tide", final_at=NOW).pk, now=NOW)
        assert types() == []
