"""The admin's first newsletter: a feed, its posts, a newsletter, a subscriber, a test."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery.models import Delivery
from feeds.models import Feed, Item
from subscriptions.models import Subscribable, Subscription
from tests.examples import some_now
from tests.factories import DeliveryFactory, FeedFactory, FinalItemFactory, ItemFactory, SubscribableFactory
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback_allowed")]

TIMING = {
    "min_delay_minutes": 30,
    "await_stabilization_minutes": 15,
    "max_delay_minutes": 180,
    "recheck_every_minutes": 10,
}


def submit(client: Client, name: str, data: dict[str, Any], *args: Any) -> Any:
    return client.post(reverse(f"admin:{name}", args=args), data, follow=True)


def text(answer: Any) -> str:
    return str(answer.content.decode())


def newsletter(feed: Feed, **changes: Any) -> dict[str, Any]:
    return {
        "name": "weekly",
        "title": "Weekly",
        "feeds": [feed.pk],
        "channel": "email",
        "arrangement": "weekly",
        "at": "07:00",
        "weekdays": ["0"],
        "day_of_month": "1",
        "time_zone": "Europe/Paris",
        "grace_minutes": "60",
        "visibility": "public",
        "approval": "none",
        "content": "full",
        "post_order": "newest",
        "welcome": "none",
        "sign_up": "open",
        "language": "en",
        **changes,
    }


def act(client: Client, model: str, action: str, *rows: Any) -> Any:
    data = {"action": action, "_selected_action": [row.pk for row in rows]}
    return submit(client, f"{model}_changelist", data)


def test_a_feed_is_read_as_it_is_added(admin_client: Client) -> None:
    with FeedServer() as server:
        url = server.serve("/feed.xml", rss([{"guid": "1", "title": "A first post"}], title="A blog"))
        answer = submit(admin_client, "feeds_feed_add", {"step": "add", "url": url, "start": "all", **TIMING})
    assert answer.status_code == 200
    assert Feed.objects.get().title == "A blog"
    assert Item.objects.get().state == "unassigned"


def test_a_feed_that_cannot_be_read_is_kept_and_says_why(admin_client: Client) -> None:
    with FeedServer() as server:
        url = server.serve("/page", b"<html><body>Hello</body></html>", headers={"Content-Type": "text/html"})
        answer = submit(
            admin_client, "feeds_feed_add", {"step": "add", "url": url, "start": "from_now", **TIMING}
        )
    assert Feed.objects.get().failures == 1
    assert "web page" in text(answer)


def test_a_newsletter_is_defined_with_what_its_arrangement_uses(admin_client: Client) -> None:
    submit(admin_client, "subscriptions_subscribable_add", newsletter(FeedFactory()))
    made = Subscribable.objects.get()
    assert (made.arrangement, made.at.hour, made.time_zone, made.n) == ("weekly", 7, "Europe/Paris", None)


def test_several_weekdays_are_chosen_without_a_cron_line(admin_client: Client) -> None:
    submit(admin_client, "subscriptions_subscribable_add", newsletter(FeedFactory(), weekdays=["0", "3"]))
    made = Subscribable.objects.get()
    assert (made.arrangement, made.cron) == ("cron", "0 7 * * 1,4")


def test_a_new_one_begins_with_the_words_of_its_feed_at_seven_and_cannot_be_stopped(
    admin_client: Client,
) -> None:
    FeedFactory(title="Rain", description="Words about rain.", language="fr")
    answer = admin_client.get(reverse("admin:subscriptions_subscribable_add"))
    form = answer.context["adminform"].form
    begun = {name: form[name].value() for name in ("title", "name", "description", "language")}
    assert begun == {"title": "Rain", "name": "rain", "description": "Words about rain.", "language": "fr"}
    assert str(form["at"].value()) == "07:00:00"
    assert "data-of-browser" in text(answer)
    assert 'name="stopped"' not in text(answer)


def test_what_happens_when_someone_comes_or_goes_is_chosen_with_it(admin_client: Client) -> None:
    chosen = {"welcome": "latest", "challenge": "on", "keep_ip": "on", "farewell_mail": "on"}
    submit(admin_client, "subscriptions_subscribable_add", newsletter(FeedFactory(), **chosen))
    made = Subscribable.objects.get()
    assert (made.welcome, made.challenge, made.keep_ip, made.farewell_mail) == ("latest", True, True, True)


@pytest.mark.parametrize(
    ("wrong", "field"),
    some_now(
        [
            ({"arrangement": "cron", "cron": "0 7 30 2 *"}, "cron"),
            ({"weekdays": []}, "weekdays"),
            ({"arrangement": "cron", "cron": "often"}, "cron"),
            ({"arrangement": "every_n", "n": ""}, "n"),
            ({"time_zone": "Mars/Olympus"}, "time_zone"),
            ({"name": "with spaces"}, "name"),
            ({"template": "no-such-template"}, "template"),
            ({"from_email": "nobody"}, "from_email"),
            ({"feeds": []}, "feeds"),
        ]
    ),
)
def test_what_could_not_work_is_refused_at_its_field(
    admin_client: Client, wrong: dict[str, Any], field: str
) -> None:
    answer = submit(admin_client, "subscriptions_subscribable_add", newsletter(FeedFactory(), **wrong))
    assert not Subscribable.objects.exists()
    assert field in answer.context["adminform"].form.errors


def test_a_subscriber_is_added_by_address(admin_client: Client) -> None:
    letter = SubscribableFactory()
    data = {"subscribable": letter.pk, "email_email": "Ada <ada@example.org>", "is_confirmed": "on"}
    submit(admin_client, "subscriptions_subscription_add", data)
    made = Subscription.objects.get()
    assert (made.destination.core, made.display_name, made.status) == ("ada@example.org", "Ada", "confirmed")


def test_an_address_that_is_none_is_refused(admin_client: Client) -> None:
    letter = SubscribableFactory()
    submit(
        admin_client, "subscriptions_subscription_add", {"subscribable": letter.pk, "email_email": "nobody"}
    )
    assert not Subscription.objects.exists()


def test_posts_are_excluded_by_an_action(admin_client: Client) -> None:
    item = FinalItemFactory()
    act(admin_client, "feeds_item", "exclude", item)
    item.refresh_from_db()
    assert item.state == "excluded"


def test_an_exclusion_that_cannot_be_taken_back_says_why(admin_client: Client) -> None:
    item = ItemFactory(state="excluded")
    assert "no longer in the feed" in text(act(admin_client, "feeds_item", "include", item))
    item.refresh_from_db()
    assert item.state == "excluded"


def test_a_failed_delivery_is_queued_again(admin_client: Client) -> None:
    row = DeliveryFactory(state="failed")
    act(admin_client, "delivery_delivery", "retry", row)
    row.refresh_from_db()
    assert row.state == "queued"


def test_send_me_a_test_needs_an_address_and_posts_and_then_queues_one(
    admin_client: Client, admin_user: Any
) -> None:
    with FeedServer() as server:
        url = server.serve("/feed.xml", rss([{"guid": "1", "title": "A first post"}]))
        submit(admin_client, "feeds_feed_add", {"step": "add", "url": url, "start": "all", **TIMING})
    letters = [SubscribableFactory(feeds=[Feed.objects.get()]), SubscribableFactory()]
    for address, letter in (("", letters[0]), ("admin@example.org", letters[1])):
        admin_user.email = address
        admin_user.save()
        act(admin_client, "subscriptions_subscribable", "send_test", letter)
    assert not Delivery.objects.exists()
    act(admin_client, "subscriptions_subscribable", "send_test", letters[0])
    assert Delivery.objects.get().kind == "test"
