"""The overview shows feeds that need a person, in a constant number of queries."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from common.clock import utcnow
from feedletter_site.monitoring.feed_health import feeds_in_need
from tests.factories import (
    NOW,
    DeliveryFactory,
    FeedFactory,
    IssueFactory,
    ItemFactory,
    PollFactory,
    SubscribableFactory,
    SubscriptionFactory,
)

pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FIGURES = {
    "view_feed": ["Blog can’t be read"],
    "view_subscription": [">Subscribers<", "New and lost subscriptions"],
    "view_issue": [">Sent last<", "waits for your approval"],
    "view_delivery": ["delivery failed this week"],
    "view_assignable": [">Sent next<"],
}


def failing(days: float = 2, **changes: Any) -> Any:
    usual = {"failures": 9, "failing_since": NOW - days * DAY, "last_polled_at": NOW - HOUR}
    facts = {
        **usual,
        "next_poll_at": NOW + 2 * HOUR,
        "next_poll_why": "backoff",
        "last_error": "It is broken.",
    }
    return FeedFactory(**{**facts, **changes})


def silent(days: int, rhythm: int | None = 600, **changes: Any) -> Any:
    facts = {"rhythm_minutes": rhythm, "first_polled_at": NOW - 400 * DAY, "newest_at": NOW - days * DAY}
    return FeedFactory(**{**facts, **changes})


def said() -> list[tuple[str, str]]:
    return [(alert.sentence, alert.detail) for alert in feeds_in_need(NOW)]


def test_feeds_in_trouble_come_with_what_is_wrong_and_since_when_the_longest_first() -> None:
    FeedFactory()
    failing(1, title="Blog", last_error="It is broken. It is tried again later.")
    failing(title="Gone", status="stopped", last_error="It is gone for good (HTTP 410).")
    FeedFactory(title="Held", held_since=NOW - HOUR)
    failing(status="paused")
    FeedFactory(status="stopped")
    assert said() == [
        ("Gone is gone", "It is gone for good (HTTP 410) · since Sat 28 Feb"),
        ("Blog can’t be read", "It is broken · since Yesterday 12:00"),
        ("Held holds posts until you decide", "since 11:00"),
    ]


def test_of_many_feeds_in_trouble_three_are_named_and_the_rest_is_a_list() -> None:
    for days in range(5):
        failing(days + 1, title=f"{days + 1} days")
    *named, rest = said()
    assert [words for words, _ in named] == [f"{days} days can’t be read" for days in (5, 4, 3)]
    assert rest == ("2 more feeds in trouble", "")


def test_a_feed_that_used_to_publish_and_does_not_is_a_hint() -> None:
    feed = silent(97)
    assert said() == [(f"{feed} has been quiet for 3 months", "")]


@pytest.mark.parametrize(
    ("days", "facts"),
    [
        (29, {}),  # less than a month
        (97, {"rhythm_minutes": 25 * 24 * 60}),  # every 25 days: 97 are less than four times that
        (97, {"rhythm_minutes": None}),  # no known rhythm
        (97, {"status": "paused"}),
        (97, {"first_polled_at": NOW - 3 * DAY}),
    ],
)
def test_a_feed_whose_silence_means_nothing_is_no_hint(days: int, facts: dict[str, Any]) -> None:
    silent(days, **facts)
    assert said() == []


def questions() -> int:
    with CaptureQueriesContext(connection) as asked:
        feeds_in_need(NOW)
    return len(asked)


def test_the_questions_are_few_whatever_is_stored() -> None:
    failing()
    silent(97)
    few = questions()
    for _ in range(10):
        PollFactory.create_batch(3, feed=failing())
        silent(99)
        ItemFactory.create_batch(5, feed=FeedFactory(held_since=NOW))
    assert questions() <= few + 1 <= 5


def test_the_overview_shows_it(admin_client: Client) -> None:
    now = utcnow()
    SubscribableFactory()
    feed = failing(title="Rain & <Sun>", failing_since=now - 3 * DAY)
    page = admin_client.get(reverse("admin:index")).content.decode()
    assert "<bdi>Rain &amp; &lt;Sun&gt; can’t be read</bdi>" in page
    assert f'href="{reverse("admin:feeds_feed_change", args=[feed.pk])}"' in page


def test_everybody_sees_the_figures_of_what_they_may_look_at_and_no_others(client: Client) -> None:
    SubscriptionFactory()
    failing(title="Blog")
    DeliveryFactory(state="failed", created_at=utcnow())
    IssueFactory(published_at=None)
    eve = User.objects.create_user("eve", is_staff=True)
    client.force_login(eve)
    for codename in ("", *FIGURES):
        eve.user_permissions.set(Permission.objects.filter(codename=codename))
        page = client.get("/admin/").content.decode().split('id="content-main"')[1]
        for needed, words in FIGURES.items():
            for word in words:
                assert (word in page) is (needed == codename), (codename, word)
