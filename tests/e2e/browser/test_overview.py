"""The overview with data in each part, and the first steps, on each screen."""

from datetime import timedelta
from typing import Any

import pytest

from common.clock import utcnow
from feedletter_site.models import FirstStep
from tests.delivery.ledger import queued
from tests.e2e.browser.screens import NARROW, WIDE, Screen, look_at, sign_in
from tests.examples import NIGHTLY
from tests.factories import (
    AssignableFactory,
    AssignmentFactory,
    DailyFactory,
    DeliveryFactory,
    EveryNFactory,
    FeedFactory,
    IssueFactory,
    LeftFactory,
    SubscriptionFactory,
)

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]
DAY = timedelta(days=1)


LOOKS = [
    pytest.param(Screen(*size, scripts=True, scheme=scheme), marks=marks)
    for size, scheme, marks in (
        (WIDE, "light", []),
        (NARROW, "dark", []),
        (WIDE, "dark", NIGHTLY),
        (NARROW, "light", NIGHTLY),
    )
]


@pytest.fixture(params=LOOKS, ids=str)
def screen(request: pytest.FixtureRequest) -> Screen:
    """Skip screens without scripts, which the admin needs."""
    chosen: Screen = request.param
    return chosen


@pytest.fixture
def rows() -> None:
    now = utcnow()
    boats = DailyFactory(title="A daily letter about boats, harbours and the people who live there")
    for back in range(12):
        issue = IssueFactory(
            subscribable=boats, title=f"Ice on the ropes, and {back} more", published_at=now - back * DAY
        )
        for _ in range(1 + back * back % 7):
            reader = SubscriptionFactory(subscribable=boats, confirmed_at=now - 2 * back * DAY)
            sent = now - back * DAY
            DeliveryFactory(issue=issue, subscription=reader, state="sent", sent_at=sent, created_at=sent)
    DeliveryFactory(issue=issue, state="failed", created_at=now)
    LeftFactory(subscribable=boats, confirmed_at=now - 30 * DAY, left_at=now)
    queued(4, issue=IssueFactory(subscribable=boats, title="On boats", published_at=now, paused_at=now))
    IssueFactory(subscribable=boats, title="A draft of tomorrow", published_at=None)
    begun = {"period_start": now - DAY, "period_end": now + DAY}
    AssignmentFactory(assignable=AssignableFactory(subscribable=boats, **begun))
    AssignmentFactory(assignable=AssignableFactory(subscribable=EveryNFactory(title="Three"), capacity=3))
    FeedFactory(failures=3, failing_since=now - DAY, last_error="The server answered HTTP 500.")
    FirstStep.objects.create(name="look")


def test_the_overview_and_the_first_steps(page: Any, site: str, rows: None) -> None:
    sign_in(page, site)
    page.goto(f"{site}/admin/")
    assert page.get_by_text("waits for your approval").first.is_visible()
    look_at(page, "overview")
    page.goto(f"{site}/admin/first-steps/")
    look_at(page, "first-steps")
