"""A held flood of posts in the admin: shown above everything, with two answers."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from feeds.models import Feed, Item
from tests.factories import FeedFactory, ItemFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def feed() -> Feed:
    since = utcnow() - timedelta(hours=1)
    made: Feed = FeedFactory(title="The Bicycle Blog", held_since=since)
    ItemFactory.create_batch(12, feed=made, held_at=since)
    ItemFactory(feed=made, title="Not held")
    return made


def page(client: Client, feed: Feed) -> str:
    return str(client.get(reverse("admin:feeds_feed_change", args=[feed.pk])).content.decode())


def act(client: Client, model: str, action: str, *keys: int, **data: str) -> str:
    given: dict[str, Any] = {"action": action, "_selected_action": keys, **data}
    answer = client.post(reverse(f"admin:feeds_{model}_changelist"), given, follow=True)
    return str(answer.content.decode())


def test_the_feeds_page_says_first_what_is_held_and_why(admin_client: Client, feed: Feed) -> None:
    shown = page(admin_client, feed)
    panel = shown[shown.index("Held for you") : shown.index("Status")]
    assert "12 posts are held since" in panel
    assert "more than 10 new posts" in panel
    assert "See all 12" in panel
    assert panel.count("/admin/feeds/item/") == 11, "ten posts, and the list"
    assert "Not held" not in panel
    assert "Send the held posts" in shown


def test_a_feed_of_which_nothing_is_held_says_nothing(admin_client: Client) -> None:
    shown = page(admin_client, FeedFactory())
    assert "Held for you" not in shown
    assert "Send the held posts" not in shown


def test_the_held_posts_are_sent_with_one_click(admin_client: Client, feed: Feed) -> None:
    assert "12 posts will be sent once settled." in act(admin_client, "feed", "send_held", feed.pk)
    feed.refresh_from_db()
    assert feed.health == "active"
    assert not Item.objects.held().exists()


def test_not_sending_them_is_confirmed_first(admin_client: Client, feed: Feed) -> None:
    assert "12 held posts won’t be sent." in act(admin_client, "feed", "drop_held", feed.pk)
    assert Item.objects.held().count() == 12
    said = act(admin_client, "feed", "drop_held", feed.pk, confirmed="1")
    assert "12 posts won’t be sent." in said
    assert Item.objects.filter(state="excluded").count() == 12


def test_the_list_of_posts_shows_what_is_held_and_takes_a_word_on_each(
    admin_client: Client, feed: Feed
) -> None:
    address = reverse("admin:feeds_item_changelist")
    held = admin_client.get(address, {"held": "yes"}).context["cl"].result_list
    assert {item.held_at is None for item in held} == {False}
    assert len(held) == 12
    (other,) = admin_client.get(address, {"held": "no"}).context["cl"].result_list
    assert str(other) == "Not held"
    first, second, *_ = Item.objects.held().values_list("pk", flat=True)
    said = act(admin_client, "item", "release", first, other.pk)
    assert "1 post will be sent once settled. 1 other was not held" in said
    assert "1 held post won’t be sent" in act(admin_client, "item", "drop_held", second)
    act(admin_client, "item", "drop_held", second, confirmed="1")
    assert Item.objects.get(pk=second).state == "excluded"
    feed.refresh_from_db()
    assert (Item.objects.held().count(), feed.health) == (10, "held")


def test_a_held_posts_own_page_offers_both_answers(admin_client: Client, feed: Feed) -> None:
    item = Item.objects.held().first()
    assert item is not None
    shown = str(admin_client.get(reverse("admin:feeds_item_change", args=[item.pk])).content.decode())
    assert "Held for you: it arrived with many others at once." in shown
    assert 'value="release"' in shown
    assert 'value="exclude"' in shown
