"""The list of subscribers (search, filters, bulk actions) and a subscriber's own page."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from subscriptions.models import Consent, SubscriberTag, Subscription
from subscriptions.subscribers.tags import tag_people
from tests.factories import (
    NOW,
    BounceFactory,
    DeliveryFactory,
    DestinationFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db
LIST = "/admin/subscriptions/subscription/"
PEOPLE = "/admin/subscriptions/destination/"


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    cache.clear()


def shown(client: Client, **query: str) -> set[str]:
    """Return the addresses in the list."""
    changelist = client.get(LIST, query).context["cl"]
    return {row.destination.core for row in changelist.result_list}


def act(client: Client, keys: list[int], action: str, **data: str) -> str:
    given: dict[str, Any] = {"action": action, "_selected_action": keys, "index": "0", **data}
    return client.post(LIST, given, follow=True).content.decode()


def reader(core: str, **facts: Any) -> Subscription:
    made: Subscription = SubscriptionFactory(destination=DestinationFactory(core=core), **facts)
    return made


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ada", {"ada@example.org", "x@other.example"}),
        ("ADA@", {"ada@example.org"}),
        ("@other.example", {"x@other.example", "ada.l@other.example"} - {"ada.l@other.example"}),
        ("da@example", set()),
        ("lovelace ada", {"x@other.example"}),
        ("100%", set()),
    ],
)
def test_search_knows_beginnings_of_addresses_domains_and_names(
    admin_client: Client, text: str, found: set[str]
) -> None:
    reader("ada@example.org", display_name="")
    reader("x@other.example", display_name="Ada Lovelace")
    reader("grace@example.org", display_name="Grace")
    assert shown(admin_client, q=text) == found


def test_each_filter_leaves_just_those(admin_client: Client) -> None:
    now = utcnow()
    plain = reader("plain@x.example", added_at=now - timedelta(days=400))
    left = LeftFactory(destination=DestinationFactory(core="left@x.example"), added_at=now)
    reader("paused@x.example", paused_until=now + timedelta(days=1), language="de")
    reader("was.paused@x.example", paused_until=now - timedelta(days=1))
    off = DestinationFactory(core="off@x.example", disabled_at=now)
    SubscriptionFactory(destination=off)
    reader("bad@x.example")
    SuppressionFactory(core="bad@x.example")
    every = {row.destination.core for row in Subscription.objects.select_related("destination")}
    assert shown(admin_client) == every
    assert shown(admin_client, subscribable__id__exact=str(plain.subscribable_id)) == {"plain@x.example"}
    assert shown(admin_client, status__exact="unsubscribed") == {left.destination.core}
    assert shown(admin_client, paused="yes") == {"paused@x.example"}
    assert shown(admin_client, paused="no") == every - {"paused@x.example"}
    assert shown(admin_client, disabled="yes") == {"off@x.example"}
    assert shown(admin_client, suppressed="yes") == {"bad@x.example"}
    assert shown(admin_client, suppressed="no") == every - {"bad@x.example"}
    assert shown(admin_client, language="de") == {"paused@x.example"}
    assert shown(admin_client, language="-") == every - {"paused@x.example"}
    assert shown(admin_client, added="1") == {"left@x.example"}


def test_all_that_match_are_ended_after_their_number_was_said(admin_client: Client) -> None:
    SubscriptionFactory.create_batch(120, subscribable=SubscribableFactory())
    first = list(Subscription.objects.values_list("pk", flat=True)[:100])
    said = act(admin_client, first, "end", select_across="1")
    assert "120 subscribers won’t get any more issues." in said
    assert Subscription.objects.confirmed().count() == 120
    assert "120 subscribers unsubscribed." in act(
        admin_client, first, "end", select_across="1", confirmed="1"
    )
    assert not Subscription.objects.confirmed().exists()


def test_confirming_says_who_is_left_out(admin_client: Client) -> None:
    keys = [UnconfirmedFactory().pk, LeftFactory().pk, SubscriptionFactory().pk]
    said = act(admin_client, keys, "confirm")
    assert "1 subscriber will get the newsletter" in said
    assert "1 subscriber unsubscribed; only they can subscribe again." in said
    assert "1 subscriber confirmed." in act(admin_client, keys, "confirm", confirmed="1")


def test_moving_asks_where_to_and_says_how_many_for_each(admin_client: Client) -> None:
    here, target = SubscribableFactory(), SubscribableFactory(title="The other")
    rows = SubscriptionFactory.create_batch(3, subscribable=here)
    SubscriptionFactory(subscribable=target, destination=rows[0].destination)
    keys = [row.pk for row in rows]
    assert "The other: 2 move, 1 already get it" in act(admin_client, keys, "move")
    said = act(admin_client, keys, "move", **{"confirmed": "1", "with-to": str(target.pk)})
    assert "2 subscribers moved to The other." in said
    assert target.subscriptions.count() == 3


def test_people_are_tagged_in_the_list_and_found_by_their_tags(admin_client: Client) -> None:
    ada, bob = reader("ada@x.example"), reader("bob@x.example")
    said = act(admin_client, [ada.pk, bob.pk], "add_tags", **{"confirmed": "1", "with-names": "Press, vip"})
    assert "2 people got the tags “Press”, “vip”." in said
    said = act(admin_client, [bob.pk], "remove_tags", **{"confirmed": "1", "with-names": "vip"})
    assert "1 person lost the tag “vip”." in said
    press, vip = SubscriberTag.objects.all()
    assert shown(admin_client, tag=str(press.pk)) == {"ada@x.example", "bob@x.example"}
    assert shown(admin_client, tag=str(vip.pk)) == {"ada@x.example"}
    assert shown(admin_client, tag="-") == shown(admin_client, tag="9" * 30) == set()
    page = f"/admin/subscriptions/subscribertag/{vip.pk}/change/"
    admin_client.post(page, {"name": "Board"})
    vip.refresh_from_db()
    assert (vip.name, vip.key) == ("Board", "board")
    assert "There is a tag “PRESS” already" in admin_client.post(page, {"name": "PRESS"}).content.decode()


def test_a_tag_that_is_deleted_says_first_who_stays_without_it(admin_client: Client) -> None:
    ada, bob = reader("ada@x.example"), reader("bob@x.example")
    tag_people(destinations=[ada.destination_id, bob.destination_id], names=["Press"])
    tag_people(destinations=[ada.destination_id], names=["vip"])
    page = "/admin/subscriptions/subscribertag/"
    assert ">2</a>" in admin_client.get(page).content.decode()
    asked = {"action": "drop", "_selected_action": list(SubscriberTag.objects.values_list("pk", flat=True))}
    said = admin_client.post(page, asked).content.decode()
    assert "“Press” is deleted, and removed from 2 people." in said
    assert "“vip” is deleted, and removed from 1 person." in said
    answer = admin_client.post(page, {**asked, "confirmed": "1"}, follow=True)
    assert "2 tags deleted." in answer.content.decode()
    assert not SubscriberTag.objects.exists()


def test_what_is_no_tag_is_refused_and_those_there_are_are_offered(admin_client: Client) -> None:
    ada = reader("ada@x.example")
    tag_people(destinations=[ada.destination_id], names=["Press"])
    assert "Existing tags: Press." in act(admin_client, [ada.pk], "add_tags")
    said = act(admin_client, [ada.pk], "add_tags", **{"confirmed": "1", "with-names": "x" * 200})
    assert "got the tag" not in said
    assert set(SubscriberTag.objects.values_list("name", flat=True)) == {"Press"}


def test_a_page_tells_all_there_is(admin_client: Client) -> None:
    row = reader("ada@example.org", paused_until=utcnow() + timedelta(days=3))
    SubscriptionFactory(destination=row.destination, subscribable__title="Another letter")
    SuppressionFactory(core="ada@example.org", reason="complained")
    Consent.objects.create(subscription=row, act="confirmed", at=NOW, how="embed", words="I want it.")
    for number in range(35):
        DeliveryFactory(
            subscription=row,
            destination=row.destination,
            kind="test",
            state="sent",
            sent_at=NOW,
            key=str(number),
        )
    failed = DeliveryFactory(
        subscription=row,
        destination=row.destination,
        kind="welcome",
        state="failed",
        last_error="550 Not here",
    )
    BounceFactory(delivery=failed, diagnostic="No such mailbox")
    page = admin_client.get(reverse("admin:subscriptions_subscription_change", args=[row.pk]))
    text = page.content.decode()
    for words in (
        "Paused until",
        "Do not email",
        "complained",
        "I want it.",
        "Another letter",
        "35 sent",
        "1 failed",
        "550 Not here",
        "No such mailbox",
        "Older ones",
    ):
        assert words in text, words
    ledger = admin_client.get(
        "/admin/delivery/delivery/", {"destination__id__exact": str(row.destination_id)}
    )
    assert ledger.context["cl"].result_count == 36


def test_the_list_asks_a_fixed_number_of_questions(
    admin_client: Client, django_assert_max_num_queries: Any
) -> None:
    SubscriptionFactory.create_batch(50, subscribable=SubscribableFactory())
    admin_client.get(LIST)
    with django_assert_max_num_queries(20):
        admin_client.get(LIST)


def test_a_subscriber_is_added_by_hand(admin_client: Client, admin_user: User) -> None:
    newsletter = SubscribableFactory()
    data = {"subscribable": newsletter.pk, "email_email": "Ada <ada@example.org>", "is_confirmed": "on"}
    admin_client.post(f"{LIST}add/", data)
    made = newsletter.subscriptions.get()
    assert (made.destination.core, made.display_name, made.status) == ("ada@example.org", "Ada", "confirmed")
    assert made.consents.get().how == "admin"


def test_people_stand_once_with_all_that_is_theirs(
    admin_client: Client, django_assert_max_num_queries: Any
) -> None:
    ada = DestinationFactory(core="ada@x.example")
    for title in ("Weekly", "Monthly"):
        SubscriptionFactory(destination=ada, subscribable__title=title)
    LeftFactory(destination=ada, subscribable__title="Daily")
    tag_people(destinations=[ada.pk], names=["press"])
    DestinationFactory(core="bob@y.example", disabled_at=NOW, disabled_reason="No such user here")
    SuppressionFactory(core=DestinationFactory(core="eve@y.example").core, reason="complained")
    for number in range(16):
        SubscriptionFactory(destination=DestinationFactory(core=f"ada{number}@x.example"))
    admin_client.get(PEOPLE)
    with django_assert_max_num_queries(22):
        page = admin_client.get(PEOPLE).content.decode()
    for words in (
        "Weekly",
        "Monthly",
        "press",
        "No: the address is disabled",
        "No: on the Do not email list",
    ):
        assert words in page, words
    assert ">Daily<" not in page
    found = {"ADA@": {"ada@x.example"}, "@y.example": {"bob@y.example", "eve@y.example"}, "da@": set()}
    for text, cores in found.items():
        rows = admin_client.get(PEOPLE, {"q": text}).context["cl"].result_list
        assert {row.core for row in rows} == cores, text
    rows = admin_client.get(PEOPLE, {"disabled": "yes"}).context["cl"].result_list
    assert {row.core for row in rows} == {"bob@y.example", "eve@y.example"}
