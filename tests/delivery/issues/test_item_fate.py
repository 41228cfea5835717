"""A post's fate, read from rows."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from common.clock import utcnow
from delivery.issues.item_fate import fate_of, fates_of
from feeds.models import Item
from subscriptions.models import FailedAssignment, LeftOut
from tests.console import json_of, printed
from tests.factories import (
    NOW,
    AssignableFactory,
    AssignmentFactory,
    DeliveryFactory,
    EveryNFactory,
    FinalItemFactory,
    IssueFactory,
    ItemFactory,
    SubscribableFactory,
)

pytestmark = pytest.mark.django_db


def in_issue(item: Item, title: str, *states: str, **fields: Any) -> None:
    newsletter = SubscribableFactory(title=title)
    newsletter.feeds.add(item.feed)
    issue = IssueFactory(subscribable=newsletter, **{"published_at": NOW, **fields})
    issue.issue_items.create(item=item, position=0, entry={})
    for state in states:
        DeliveryFactory(issue=issue, state=state)


@pytest.fixture
def post() -> Item:
    made: Item = ItemFactory(state="assigned")
    return made


def monthly(item: Item) -> None:
    newsletter = SubscribableFactory(title="Monthly", arrangement="monthly", time_zone="America/New_York")
    end = NOW + timedelta(days=3)
    AssignmentFactory(
        item=item, assignable=AssignableFactory(subscribable=newsletter, period_start=NOW, period_end=end)
    )


def test_a_post_that_went_out_and_waits_says_both(post: Item) -> None:
    for title in ("Daily", "Weekly", "Each"):
        in_issue(post, title, "sent", "failed")
    monthly(post)
    said = fate_of(post, NOW)
    assert said.startswith("Sent in 3 newsletters; waits in Monthly until ")
    assert said.endswith("New York time.")


def test_each_state_of_an_issue_is_told(post: Item) -> None:
    in_issue(post, "Going", "queued")
    in_issue(post, "Kept", "stored")
    in_issue(post, "Empty")
    in_issue(post, "Refused", "failed")
    in_issue(post, "Dropped", "cancelled", cancelled_at=NOW)
    in_issue(post, "Draft", published_at=None)
    in_issue(post, "New", published_at=None, awaits_reader=True)
    in_issue(post, "Held", "queued", paused_at=NOW)
    assert fate_of(post, NOW) == (
        "Kept in the mailbox, not sent, in Kept; being sent in Going; in the archive of Empty, which had no"
        " subscribers; cancelled in Dropped; refused by every recipient’s server in Refused; waits in Draft"
        " for your approval; waits in New for its first subscriber; waits in Held because it is paused."
    )


def test_one_that_fills_up_and_one_that_an_editor_wanted_without_it(post: Item) -> None:
    fills = AssignableFactory(subscribable=EveryNFactory(title="Three"), capacity=3)
    AssignmentFactory(item=post, assignable=fills)
    without = AssignableFactory(subscribable=SubscribableFactory(title="Picked"))
    AssignmentFactory(item=post, assignable=without, left_out_at=NOW)
    said = "Waits in Three for 2 more posts; left out of Picked: by an editor."
    assert fate_of(post, NOW) == said


def test_a_post_that_no_newsletter_took_says_why() -> None:
    post = ItemFactory(state="cleared")
    assert fate_of(post, NOW) == "Not sent: no newsletter uses this feed."
    weekly = SubscribableFactory(title="Weekly")
    weekly.feeds.set([post.feed])
    LeftOut.objects.create(subscribable=weekly, item=post, reason="its title contains “ad”")
    post.reason = "“Weekly” left it out: its title contains “ad”. It is not in “Daily”, which had it."
    assert fate_of(post, NOW) == (
        "Not sent: left out of Weekly: its title contains “ad”. It is not in “Daily”, which had it."
    )


def test_before_any_newsletter_the_feed_answers() -> None:
    assert (
        fate_of(ItemFactory(state="excluded", reason="by hand"), NOW) == "Not sent: it was excluded by hand."
    )
    settled = FinalItemFactory()
    assert fate_of(settled, NOW) == "Ready, but no newsletter uses this feed."
    SubscribableFactory().feeds.set([settled.feed])
    FailedAssignment.objects.create(item=settled, last_error="ValueError: x")
    assert fate_of(settled, NOW).endswith(
        "It couldn’t be added to an issue and is tried again: ValueError: x"
    )


def test_the_page_and_the_command_say_the_same(post: Item, admin_client: Client) -> None:
    in_issue(post, "Daily", "sent")
    row = json_of("show_item", str(post.pk))
    assert (row["id"], row["fate"]) == (post.pk, "Sent in Daily.")
    assert [(each["newsletter"], each["state"]) for each in row["newsletters"]] == [("Daily", "sent")]
    assert printed("show_item", str(post.pk)).startswith("Sent in Daily.")
    page = admin_client.get(reverse("admin:feeds_item_change", args=[post.pk])).content.decode()
    assert "What happened" in page
    assert "Sent in Daily." in page


def test_many_posts_are_asked_about_at_once(django_assert_num_queries: Any) -> None:
    posts = [ItemFactory(state="assigned") for _ in range(5)]
    for post in posts:
        in_issue(post, f"Daily {post.pk}", "sent")
        monthly(post)
        LeftOut.objects.create(subscribable=SubscribableFactory(), item=post, reason="its title is odd")
    with django_assert_num_queries(11):
        said = fates_of(posts[:1], NOW)
    rows = list(Item.objects.filter(pk__in=[post.pk for post in posts]))
    with django_assert_num_queries(12):
        said = fates_of(rows, NOW)
    assert set(said) == {post.pk for post in posts}
    for post in posts:
        assert said[post.pk] == fate_of(post, NOW)
        assert f"Sent in Daily {post.pk}; waits in Monthly until" in said[post.pk]


def test_lists_count_newsletters_and_the_posts_page_has_the_sentence(admin_client: Client) -> None:
    post = ItemFactory(state="assigned")
    for title in ("Daily", "Each"):
        in_issue(post, title, "sent")
    monthly(post)
    said = fate_of(post, utcnow())
    assert said.startswith("Sent in Daily and Each; waits in Monthly ")
    for place, words in (
        (reverse("admin:feeds_feed_change", args=[post.feed_id]), "Sent in 2 · waits in 1"),
        (reverse("admin:feeds_item_changelist"), "Sent in 2 · waits in 1"),
        (reverse("admin:feeds_item_change", args=[post.pk]), said),
    ):
        page = admin_client.get(place).content.decode()
        assert words in page, place
        assert "added to the next issues" not in page
