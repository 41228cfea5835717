"""Why a subscriber got nothing, read from rows and shown on pages.

A post's fate, read from rows.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from common.admin.html import object_url
from common.clock import utcnow
from delivery.issues.item_fate import fate_of, fates_of
from delivery.issues.reach import answers_of_people, reach_of, reach_of_person, reaches_of
from delivery.models import LaneDomain, Restore
from feeds.models import Item
from subscriptions.models import Consent, FailedAssignment, FrequencyChange, LeftOut, Subscription
from subscriptions.subscribers.leave import leave
from tests.console import json_of, printed
from tests.factories import (
    NOW,
    AssignableFactory,
    AssignmentFactory,
    DeliveryFactory,
    DestinationFactory,
    EveryNFactory,
    FeedFactory,
    FinalItemFactory,
    IssueFactory,
    ItemFactory,
    LaneFactory,
    LeftFactory,
    NoticeFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

DAY = timedelta(days=1)
pytestmark = pytest.mark.django_db


def why(subscription: Subscription) -> str:
    return reach_of(Subscription.objects.get(pk=subscription.pk), now=NOW).reason


def a_newsletter(**fields: Any) -> Any:
    feed = FeedFactory()
    ItemFactory(feed=feed)
    return SubscribableFactory(feeds=[feed], **fields)


def a_reader(**fields: Any) -> Any:
    newsletter = fields.pop("subscribable", None) or a_newsletter()
    return SubscriptionFactory(
        subscribable=newsletter, **{"confirmed_at": NOW - 30 * DAY, "added_at": NOW - 30 * DAY, **fields}
    )


def last_issue(subscription: Any, state: str = "", issue: Any = None, **fields: Any) -> Any:
    issue = IssueFactory(subscribable=subscription.subscribable, published_at=NOW - DAY, **(issue or {}))
    if state:
        DeliveryFactory(
            issue=issue,
            subscription=subscription,
            destination=subscription.destination,
            state=state,
            **fields,
        )
    return issue


def suppressed() -> Any:
    row = UnconfirmedFactory(confirm_nonce="")
    SuppressionFactory(core=row.destination.core, reason="imported as bounced", created_at=NOW)
    return row


def left_by_reader() -> Any:
    row = a_reader()
    leave(subscription=row, now=NOW, by_reader=True)
    return row


def switched(*, is_settled: bool, is_old: bool) -> Any:
    old = a_reader(subscribable=a_newsletter(title="The Daily"))
    new = a_reader(subscribable=a_newsletter(title="The Weekly"), destination=old.destination)
    FrequencyChange.objects.create(
        old=old, new=new, rarer=new.subscribable, at=NOW + DAY, settled_at=NOW if is_settled else None
    )
    if is_settled:
        Subscription.objects.filter(pk=old.pk).update(status="unsubscribed", left_at=NOW)
    return old if is_old else new


def asked(state: str, ago: timedelta = timedelta(hours=1)) -> Any:
    row = UnconfirmedFactory(subscribable=a_newsletter(), added_at=NOW - ago)
    Consent.objects.create(subscription=row, act="asked", at=NOW - ago)
    if state == "wanted":
        NoticeFactory(subscription=row)
    elif state:
        lane = LaneFactory()
        DeliveryFactory(
            kind="confirmation",
            issue=None,
            subscription=row,
            destination=row.destination,
            lane=lane,
            state=state,
            created_at=NOW - ago,
        )
    return row


def with_last(state: str, *, lane: Any = None, domain: Any = None, issue: Any = None, **fields: Any) -> Any:
    row = a_reader()
    used = LaneFactory(**(lane or {}))
    if domain:
        LaneDomain.objects.create(lane=used, domain="example.org", **domain)
    last_issue(row, state, issue, lane=used, **fields)
    return row


def late(**last: Any) -> Any:
    row = a_reader(confirmed_at=NOW - timedelta(hours=1))
    last_issue(row, **last)
    return row


def drafted(**fields: Any) -> Any:
    row = a_reader()
    IssueFactory(subscribable=row.subscribable, published_at=None, **fields)
    return row


CASES: dict[str, tuple[str, Callable[[], Any]]] = {
    "imported as bounced": ("suppressed", suppressed),
    "disabled": ("disabled", lambda: a_reader(destination=DestinationFactory(disabled_at=NOW))),
    "erased": ("erased", lambda: a_reader(destination=DestinationFactory(erased_at=NOW, disabled_at=NOW))),
    "changed to another": ("switched", lambda: switched(is_settled=True, is_old=True)),
    "left": ("unsubscribed", left_by_reader),
    "imported as left": ("unsubscribed", lambda: LeftFactory(confirmed_at=None)),
    "never asked": ("unconfirmed", lambda: UnconfirmedFactory(confirm_nonce="")),
    "asked": ("unconfirmed", lambda: asked("sent")),
    "paused": ("paused", lambda: a_reader(paused_until=NOW + DAY)),
    "pause is over": ("first_issue", lambda: a_reader(paused_until=NOW - DAY)),
    "newsletter paused": (
        "newsletter_paused",
        lambda: a_reader(subscribable=a_newsletter(sending_paused_at=NOW)),
    ),
    "issue paused": ("last_paused", lambda: with_last("queued", issue={"paused_at": NOW})),
    "held": ("last_held", lambda: with_last("held", held_for="restore")),
    "failed": ("last_failed", lambda: with_last("failed", last_error="550 No")),
    "cancelled": ("last_cancelled", lambda: with_last("cancelled")),
    "queued": ("last_waits", lambda: with_last("queued")),
    "stored": ("last_stored", lambda: with_last("stored")),
    "takes over": ("takes_over", lambda: switched(is_settled=False, is_old=False)),
    "goes on until the change": ("first_issue", lambda: switched(is_settled=False, is_old=True)),
    "confirmed later": ("confirmed_later", late),
    "not among them": ("not_among", lambda: with_last("")),
    "last was cancelled": ("not_among", lambda: with_last("", issue={"cancelled_at": NOW})),
    "a letter to some": (
        "first_issue",
        lambda: with_last("", issue={"audience": {"any_of": {"1": "press"}}}),
    ),
    "no feed": ("no_feed", lambda: a_reader(subscribable=SubscribableFactory(feeds=[]))),
    "stopped": ("stopped", lambda: a_reader(subscribable=a_newsletter(stopped=True))),
    "feeds paused": (
        "feeds_unread",
        lambda: a_reader(subscribable=SubscribableFactory(feeds=[FeedFactory(status="paused")])),
    ),
    "draft": ("awaits_approval", drafted),
    "scheduled": ("first_issue", lambda: drafted(release_at=NOW + DAY)),
    "no post": ("no_post", lambda: a_reader(subscribable=SubscribableFactory(feeds=[FeedFactory()]))),
    "new": ("first_issue", a_reader),
    "all well": ("sent", lambda: with_last("sent", sent_at=NOW)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_rows_lead_to_the_reason(name: str) -> None:
    reason, make = CASES[name]
    assert why(make()) == reason


@pytest.mark.parametrize(
    ("state", "ago", "said"),
    [
        ("wanted", timedelta(hours=1), "is not sent yet"),
        ("queued", timedelta(hours=1), "is not sent yet"),
        ("failed", timedelta(hours=1), "was refused"),
        ("stored", timedelta(hours=1), "kept in the mailbox here"),
        ("sent", timedelta(hours=1), "not confirmed yet; the link expires on"),
        ("sent", timedelta(days=5), "expired on"),
        ("", timedelta(days=5), "expired on"),
    ],
)
def test_what_became_of_the_confirmation_is_told(state: str, ago: timedelta, said: str) -> None:
    assert said in reach_of(asked(state, ago), now=NOW).sentence


def test_a_mail_that_asks_about_several_newsletters_counts_for_each() -> None:
    first = asked("failed")
    second = UnconfirmedFactory(subscribable=a_newsletter(), destination=first.destination, added_at=NOW)
    Consent.objects.create(subscription=second, act="asked", at=NOW - timedelta(hours=2))
    assert "was refused" in reach_of(second, now=NOW).sentence


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (
            {"lane": {"paused": True, "paused_reason": "By hand."}},
            "the account that sends it is paused (By hand)",
        ),
        ({"domain": {"paused": True}}, "the recipient’s domain is paused"),
        ({"lane": {"failures": 2, "free_at": NOW + DAY, "last_error": "421 Busy"}}, "resting (421 Busy)"),
    ],
)
def test_what_waits_says_what_it_waits_for(limits: dict[str, Any], said: str) -> None:
    assert said in reach_of(with_last("queued", **limits), now=NOW).sentence


def test_after_a_restore_what_is_unsent_waits_for_the_admin() -> None:
    row = with_last("queued")
    Restore.objects.create(begun_at=NOW)
    assert "because a backup was restored" in reach_of(row, now=NOW).sentence


def test_the_next_issue_is_named() -> None:
    row = a_reader(subscribable=a_newsletter(arrangement="weekly", time_zone="Europe/Paris"))
    held = AssignableFactory(subscribable=row.subscribable, period_start=NOW, period_end=NOW + 3 * DAY)
    AssignmentFactory(assignable=held)
    assert "The next issue is sent on " in reach_of(row, now=NOW).sentence


def test_a_person_is_asked_about_once(django_assert_max_num_queries: Any) -> None:
    person = DestinationFactory()
    rows = [a_reader(destination=person) for _ in range(5)]
    for row in rows:
        last_issue(row, "sent", sent_at=NOW)
    with django_assert_max_num_queries(16):
        found = reaches_of(rows, now=NOW)
    assert {each.reason for each in found.values()} == {"sent"}
    assert reach_of_person(person, now=NOW) is None


def test_a_page_of_people_is_asked_about_once(django_assert_max_num_queries: Any) -> None:
    newsletter = a_newsletter()
    people = [a_reader(subscribable=newsletter).destination for _ in range(5)]
    paused = a_reader(subscribable=newsletter, paused_until=NOW + DAY).destination
    nobody = DestinationFactory()
    gone = DestinationFactory(disabled_at=NOW)
    asked_now = asked("failed").destination
    with django_assert_max_num_queries(18):
        answers = answers_of_people([*people, paused, nobody, gone, asked_now], now=NOW)
    assert {answers[each.pk] for each in people} == {"Yes, from the next issue"}
    assert answers[paused.pk].startswith("No: paused by the subscriber until")
    assert answers[nobody.pk] == "No: subscribed to nothing"
    assert answers[gone.pk].startswith("No: the address is disabled")
    assert answers[asked_now.pk] == "No: not confirmed"


def test_the_pages_say_the_one_true_reason_first(admin_client: Client) -> None:
    row = suppressed()
    said = "Gets nothing: on the Do not email list since 2 Mar"
    for shown in (row, row.destination):
        page = admin_client.get(object_url(shown)).content.decode()
        main = page[page.index('id="main"') :]
        assert said in main
        assert "(imported as bounced)." in main
        assert main.index(said) < main.index("About this person" if shown != row else "Status")
        assert "The next issue is the first" not in main
        assert "not confirmed yet" not in main
    for name in ("subscription", "destination"):
        page = admin_client.get(reverse(f"admin:subscriptions_{name}_changelist")).content.decode()
        assert "No: on the Do not email list since 2 Mar" in page
        assert "not confirmed yet</" not in page
        assert "(not confirmed yet)" not in page


def test_a_person_with_several_newsletters_has_a_sentence_for_each(admin_client: Client) -> None:
    person = DestinationFactory()
    paused = a_reader(destination=person, paused_until=NOW + 3650 * DAY)
    new = a_reader(destination=person)
    page = admin_client.get(object_url(person)).content.decode()
    for row, said in ((paused, "paused by the subscriber"), (new, "Nothing was sent yet.")):
        assert said in page
        assert escape(str(row.subscribable)) in page


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
