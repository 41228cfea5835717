"""The overview shows the state of the feeds, in a constant number of queries."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from common.clock import utcnow
from feedletter_site.monitoring.feed_health import TROUBLES_SHOWN, feed_health
from tests.factories import (
    NOW,
    DeliveryFactory,
    FeedFactory,
    ItemFactory,
    PollFactory,
    SubscribableFactory,
    SubscriptionFactory,
)

pytestmark = pytest.mark.django_db
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


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


def test_feeds_are_counted_by_health_and_states_without_any_are_left_out() -> None:
    FeedFactory.create_batch(2)
    failing()
    FeedFactory(held_since=NOW)
    FeedFactory(status="paused", failures=3)
    words = [part.words for part in feed_health(NOW).parts]
    assert words == ["2 working", "1 failing", "1 held for you", "1 paused"]


@pytest.mark.parametrize(
    ("facts", "health"),
    [
        ({}, "active"),
        ({"failures": 1}, "failing"),
        ({"held_since": NOW}, "held"),
        ({"status": "paused"}, "paused"),
        ({"status": "stopped"}, "stopped"),
    ],
)
def test_each_count_leads_to_a_list_of_just_those(
    admin_client: Client, facts: dict[str, Any], health: str
) -> None:
    feed = FeedFactory(title="The one", **facts)
    others = {"status": "paused"} if health == "active" else {}
    FeedFactory(title="Another", **others)
    (url,) = [part.url for part in feed_health(NOW).parts if f"health={health}" in part.url]
    page = admin_client.get(url).content.decode()
    assert reverse("admin:feeds_feed_change", args=[feed.pk]) in page
    assert "Another" not in page


def test_feeds_in_trouble_come_with_what_is_wrong_since_when_and_what_is_next() -> None:
    FeedFactory()
    failing(title="Blog")
    (ill,) = feed_health(NOW).trouble
    assert (ill.name, ill.wrong, ill.since) == ("Blog", "It is broken.", "for 2 days")
    assert (
        ill.next
        == "Next reading: in 2 hours: after failures it is read less and less often, but at least once a day."
    )


def test_a_gone_and_a_held_feed_are_trouble_and_a_paused_one_is_not() -> None:
    failing(title="Gone", status="stopped", last_error="It is gone for good (HTTP 410).")
    FeedFactory(title="Held", held_since=NOW - HOUR)
    failing(status="paused")
    FeedFactory(status="stopped")
    trouble = feed_health(NOW).trouble
    assert [(ill.name, ill.since) for ill in trouble] == [("Gone", "for 2 days"), ("Held", "for 1 hour")]
    assert trouble[0].next == "It’s no longer read."


def test_the_longest_in_trouble_come_first_and_no_more_than_eight() -> None:
    for days in range(12):
        failing(days + 1, title=f"{days + 1} days")
    health = feed_health(NOW)
    assert [ill.name for ill in health.trouble] == [
        f"{days} days" for days in range(12, 12 - TROUBLES_SHOWN, -1)
    ]
    assert health.more == 4


def test_a_feed_that_used_to_publish_and_does_not_is_a_hint() -> None:
    feed = silent(97)
    (hint,) = feed_health(NOW).quiet
    assert (hint.name, hint.wrong) == (feed.title, "has been quiet for 3 months.")


@pytest.mark.parametrize(
    ("days", "facts"),
    [
        (29, {}),  # less than a month
        (97, {"rhythm_minutes": 25 * 24 * 60}),  # every 25 days: 97 are less than four times that
        (97, {"rhythm_minutes": None}),  # no known rhythm
        (97, {"failures": 2}),  # another problem
        (97, {"status": "paused"}),
        (97, {"first_polled_at": NOW - 3 * DAY}),
    ],
)
def test_a_feed_whose_silence_means_nothing_is_no_hint(days: int, facts: dict[str, Any]) -> None:
    silent(days, **facts)
    assert feed_health(NOW).quiet == ()


def questions() -> int:
    with CaptureQueriesContext(connection) as asked:
        feed_health(NOW)
    return len(asked)


def test_the_questions_are_few_whatever_is_stored() -> None:
    failing()
    silent(97)
    few = questions()
    for _ in range(10):
        PollFactory.create_batch(3, feed=failing())
        silent(99)
        ItemFactory.create_batch(5, feed=FeedFactory(held_since=NOW))
    assert questions() == few
    assert few <= 5


def test_the_overview_shows_it(admin_client: Client) -> None:
    now = utcnow()
    SubscribableFactory()
    failing(title="Rain & <Sun>", next_poll_at=now + 2 * HOUR + MINUTE, failing_since=now - 3 * DAY)
    page = admin_client.get(reverse("admin:index")).content.decode()
    assert "Feed health" in page
    assert "Rain &amp; &lt;Sun&gt;" in page
    assert "for 3 days" in page
    assert re.search(r"Next reading: in 2 hours", page)
    assert "1 working" in page


FIGURES = {
    "view_feed": ["Feed health", ">Feeds<"],
    "view_subscribable": [">Newsletters and bridges<"],
    "view_subscription": [">Subscriptions<", "New and lost subscriptions"],
    "view_delivery": ["Waiting to be sent", "Emails a day", "delivery failed this week"],
    "view_assignable": [">Next<"],
}


def test_everybody_sees_the_figures_of_what_they_may_look_at_and_no_others(client: Client) -> None:
    SubscriptionFactory()
    FeedFactory()
    DeliveryFactory(state="failed", created_at=utcnow())
    eve = User.objects.create_user("eve", is_staff=True)
    client.force_login(eve)
    for codename in ("", *FIGURES):
        eve.user_permissions.set(Permission.objects.filter(codename=codename))
        page = re.sub(r"</b>", ">", client.get("/admin/").content.decode().split('id="content-main"')[1])
        for needed, words in FIGURES.items():
            for word in words:
                assert (word in page.replace("</a>", "<")) is (needed == codename), (codename, word)


def test_the_tile_of_what_waits_counts_what_is_held(admin_client: Client) -> None:
    FeedFactory()
    for state in ("queued", "deferred", "held", "held", "held", "sent", "cancelled"):
        DeliveryFactory(state=state)
    page = admin_client.get(reverse("admin:index")).content.decode()
    found = re.search(r'href="([^"]*)"><b>2 · 3 held</b>Waiting to be sent', page)
    assert found, page
    listed = admin_client.get(found[1].replace("&amp;", "&")).content.decode()
    assert "5 deliveries" in listed
