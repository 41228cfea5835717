"""Why a subscriber got nothing, read from rows and shown on pages."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from common.admin.html import object_url
from delivery.issues.reach import answers_of_people, reach_of, reach_of_person, reaches_of
from delivery.models import LaneDomain, Restore
from subscriptions.models import Consent, FrequencyChange, Subscription
from subscriptions.subscribers.leave import leave
from tests.factories import (
    NOW,
    AssignableFactory,
    AssignmentFactory,
    DeliveryFactory,
    DestinationFactory,
    FeedFactory,
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
