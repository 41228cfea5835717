"""Credentials in the admin: entered, kept, and never shown again; and the note about newsletters."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from feeds.models import Feed
from subscriptions.models import Subscribable
from tests.examples import some_now
from tests.factories import FeedFactory, SubscribableFactory

pytestmark = pytest.mark.django_db
BASIC = {"user": "ada-lovelace", "password": "geheim"}
USUAL = {
    "pace": "fixed",
    "ceiling_minutes": "60",
    "min_delay_minutes": "30",
    "await_stabilization_minutes": "15",
    "max_delay_minutes": "180",
    "recheck_every_minutes": "10",
    "hold_floods": "on",
    "join_reposts": "on",
    "use_hub": "on",
}
ADD = reverse("admin:subscriptions_subscribable_add")


def page_of(feed: Feed) -> str:
    return reverse("admin:feeds_feed_change", args=[feed.pk])


def save(client: Client, feed: Feed, **data: str) -> Any:
    answer = client.post(page_of(feed), {"url": feed.url, "title": feed.title, **USUAL, **data}, follow=True)
    feed.refresh_from_db()
    return answer.content.decode()


@pytest.mark.parametrize("given", [BASIC, {"header": "X-Api-Key", "value": "geheim"}])
def test_they_are_stored_and_never_shown(admin_client: Client, given: dict[str, str]) -> None:
    feed = FeedFactory()
    assert "geheim" not in save(admin_client, feed, **given)
    assert feed.credentials.open() == given
    page = admin_client.get(page_of(feed)).content.decode()
    assert "Stored now: " in page
    assert "geheim" not in page
    assert "ada-lovelace" not in page


def test_leaving_the_fields_empty_leaves_them_and_a_box_forgets_them(admin_client: Client) -> None:
    feed = FeedFactory(credentials=BASIC)
    save(admin_client, feed, title="Other")
    assert feed.credentials.open() == BASIC
    save(admin_client, feed, forget="on")
    assert not feed.credentials
    assert "Delete what is stored" not in admin_client.get(page_of(feed)).content.decode()


@pytest.mark.parametrize(
    ("given", "said"),
    some_now(
        [
            ({"user": "a:b", "password": "geheim"}, "without a colon"),
            ({"password": "geheim"}, "Give a user name"),
            ({"header": "Host", "value": "geheim"}, "part of every request"),
            ({"user": "ada", "header": "X-Key", "value": "geheim"}, "not both"),
        ]
    ),
)
def test_what_cannot_be_sent_is_refused_and_not_echoed(
    admin_client: Client, given: dict[str, str], said: str
) -> None:
    feed = FeedFactory()
    page = save(admin_client, feed, **given)
    assert said in page
    assert "geheim" not in page
    assert not feed.credentials


def test_another_host_makes_them_forgotten_and_that_is_said(admin_client: Client) -> None:
    feed = FeedFactory(credentials=BASIC)
    page = save(admin_client, feed, url="https://elsewhere.example/feed")
    assert "were deleted, because the new address is at another host" in page
    assert not feed.credentials


def test_a_user_name_in_the_address_is_taken_out_of_it(admin_client: Client) -> None:
    feed = FeedFactory(url="https://x.test/feed")
    page = save(admin_client, feed, url="https://ada:geheim@x.test/feed")
    assert feed.url == "https://x.test/feed"
    assert feed.credentials.open() == {"user": "ada", "password": "geheim"}
    assert "geheim" not in page


def test_newsletters_that_others_see_are_warned_about_by_name(admin_client: Client) -> None:
    feed = FeedFactory()
    letter = SubscribableFactory(feeds=[feed], title="Wide Open")
    assert "through “Wide Open”" in save(admin_client, feed, **BASIC)
    assert "through “Wide Open”" in admin_client.get(page_of(feed)).content.decode()
    letter.refresh_from_db()
    assert letter.visibility == "public", "nothing is changed silently"


def newsletter(feed: Feed, **changes: Any) -> dict[str, Any]:
    return {
        "name": "weekly",
        "title": "Weekly",
        "feeds": [feed.pk],
        "channel": "email",
        "arrangement": "each",
        "approval": "none",
        "content": "full",
        "post_order": "newest",
        "welcome": "none",
        "time_zone": "UTC",
        "grace_minutes": "60",
        "visibility": "public",
        "sign_up": "open",
        "language": "en",
        **changes,
    }


def define(client: Client, url: str, data: dict[str, Any]) -> tuple[Subscribable, str]:
    answer = client.post(url, data, follow=True)
    return Subscribable.objects.get(), answer.content.decode()


def test_a_newsletter_over_such_a_feed_is_private_and_closed_at_first(admin_client: Client) -> None:
    made, page = define(admin_client, ADD, newsletter(FeedFactory(credentials=BASIC)))
    assert (made.visibility, made.sign_up) == ("private", "closed")
    assert "because one of its feeds needs credentials" in page


@pytest.mark.slow
def test_its_form_says_so_and_then_takes_what_the_admin_chooses(admin_client: Client) -> None:
    feed = FeedFactory(credentials=BASIC)
    form = admin_client.get(f"{ADD}?feeds={feed.pk}").content.decode()
    assert '<option value="private" selected>' in form
    assert '<option value="closed" selected>' in form
    assert "its feed needs credentials" in form
    made, _ = define(admin_client, f"{ADD}?feeds={feed.pk}", newsletter(feed))
    assert (made.visibility, made.sign_up) == ("public", "open")


def test_other_newsletters_are_as_they_were(admin_client: Client) -> None:
    made, page = define(admin_client, ADD, newsletter(FeedFactory()))
    assert (made.visibility, made.sign_up) == ("public", "open")
    assert "needs credentials" not in page


def test_such_a_feed_that_joins_an_open_newsletter_is_named(admin_client: Client) -> None:
    letter = SubscribableFactory()
    url = reverse("admin:subscriptions_subscribable_change", args=[letter.pk])
    feed = FeedFactory(credentials=BASIC, title="Secret Blog")
    no_rules = {"post_rules-TOTAL_FORMS": "0", "post_rules-INITIAL_FORMS": "0"}
    data = {**newsletter(feed, title="Weekly"), **no_rules}
    assert "“Secret Blog” needs credentials" in admin_client.post(url, data, follow=True).content.decode()
