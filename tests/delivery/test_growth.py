"""Charts of subscriber growth, for a newsletter and for all."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from common.admin.html import block
from common.clock import utcnow
from delivery.admin import issue_figures
from delivery.bounces.list_growth import counted_of
from subscriptions.models import Subscription
from subscriptions.subscribers.counts import per_day
from tests.factories import (
    BounceFactory,
    BridgeFactory,
    DeliveryFactory,
    FeedFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    cache.clear()


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati"])
def test_a_moment_counts_for_its_day_in_the_zone(zone: str) -> None:
    moments = [
        datetime(2026, 3, 7, 23, 59, 59, 999999, tzinfo=UTC),
        datetime(2026, 3, 8, 4, 59, tzinfo=UTC),
        datetime(2026, 3, 8, 5, 0, tzinfo=UTC),
        datetime(2026, 3, 8, 18, 29, 59, tzinfo=UTC),
        datetime(2026, 3, 8, 18, 30, tzinfo=UTC),
        # After New York's change to daylight saving time.
        datetime(2026, 3, 9, 4, 0, tzinfo=UTC),
    ]
    newsletter, there = SubscribableFactory(), ZoneInfo(zone)
    for moment in moments:
        SubscriptionFactory(subscribable=newsletter, added_at=moment)
    expected: dict[date, int] = {}
    for moment in moments:
        day = moment.astimezone(there).date()
        expected[day] = expected.get(day, 0) + 1
    counted = per_day(Subscription.objects.all(), "added_at", since=date(2026, 3, 1), zone=there)
    assert counted == expected


def at(days: int) -> datetime:
    return utcnow() - days * DAY


def a_list() -> Any:
    newsletter = SubscribableFactory(title="The letter")
    SubscriptionFactory.create_batch(3, subscribable=newsletter, added_at=at(5), confirmed_at=at(4))
    UnconfirmedFactory(subscribable=newsletter, added_at=at(4))
    LeftFactory(subscribable=newsletter, added_at=at(300), confirmed_at=at(299), left_at=at(2))
    gone = SubscriptionFactory(subscribable=newsletter, added_at=at(500), confirmed_at=at(500))
    letter = DeliveryFactory(subscription=gone, destination=gone.destination, issue__subscribable=newsletter)
    BounceFactory(delivery=letter, kind="hard", at=at(1))
    BounceFactory(delivery=letter, kind="soft", at=at(1))
    return newsletter


def test_figures_are_those_of_the_rows_and_of_the_newsletter_alone() -> None:
    newsletter, other = a_list(), SubscriptionFactory(added_at=at(3), confirmed_at=at(3))
    today = timezone.localdate()
    own = counted_of(newsletter, today)
    sums = {name: sum(days.values()) for name, days in own.items()}
    assert sums == {"new": 5, "confirmed": 4, "left": 1, "bounced": 1}
    assert sum(counted_of(None, today)["new"].values()) == 6
    assert sum(counted_of(other.subscribable, today)["bounced"].values()) == 0


def test_the_newsletters_page_draws_it_and_tells_it(admin_client: Client) -> None:
    newsletter = a_list()
    for days in (20, 27, 34):
        SubscriptionFactory(subscribable=newsletter, added_at=at(days), confirmed_at=at(days))
    url = reverse("admin:subscriptions_subscribable_change", args=[newsletter.pk]) + "?tab=subscribers"
    page = admin_client.get(url).content.decode()
    assert "7 subscribers now" in page
    assert "7 new, 6 confirmed, 1 left, 1 bounced" in page
    assert "8 new, 7 confirmed, 1 left, 1 bounced" in page
    assert page.count('class="fl-spark fl-flow"') == 2
    assert 'aria-labelledby="fl-the-last-12-weeks-by-day-title fl-the-last-12-weeks-by-day-text"' in page
    assert "The same as a table" in page


def test_little_growth_is_one_sentence(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    SubscriptionFactory(subscribable=newsletter, added_at=at(3), confirmed_at=at(3))
    shown = block(issue_figures.of_newsletter(newsletter))
    assert shown.count("1 new, 1 confirmed, 0 left, 0 bounced") == 1
    assert "<svg" not in shown
    assert "fl-key" not in shown


def test_the_overview_draws_all_of_them(admin_client: Client) -> None:
    FeedFactory()
    assert "New and lost subscriptions" not in admin_client.get("/admin/").content.decode()
    a_list()
    page = admin_client.get("/admin/").content.decode()
    assert "New and lost subscriptions" in page
    assert "5 new, 4 confirmed, 1 left, 1 bounced" in page


def test_a_bridge_has_no_growth(admin_client: Client) -> None:
    bridge = BridgeFactory(options={"visibility": "public"})
    SubscriptionFactory(subscribable=bridge)
    assert issue_figures.of_newsletter(bridge) == ""
