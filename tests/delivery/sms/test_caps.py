"""Daily limits of an account and a recipient: excess messages wait, and are reported."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from delivery.alerts.pauses import tell_of_caps
from delivery.lanes.lanes import lane_for
from delivery.lanes.limits import OVER, alter_lane, next_day
from delivery.models import Delivery, Lane
from subscriptions.models import Subscribable
from tests.delivery.sms.texting import ACCOUNT, a_reader, bodies, go_out
from tests.factories import DeliveryFactory, an_issue
from tests.servers.services.twilio import Twilio

pytestmark = pytest.mark.django_db(transaction=True)
MORNING = datetime(2026, 3, 4, 9, tzinfo=UTC)


@pytest.fixture
def lane(newsletter: Subscribable) -> Lane:
    return lane_for(kind="sms", core="", options={"account": ACCOUNT})


def queued(newsletter: Subscribable, lane: Lane, issues: int = 3, readers: int = 1) -> None:
    """Queue so many issues to so many readers."""
    people = [a_reader(newsletter, f"+491512345678{number}") for number in range(readers)]
    for _ in range(issues):
        issue = an_issue(subscribable=newsletter, posts=1, published_at=MORNING)
        for reader in people:
            DeliveryFactory(
                issue=issue, subscription=reader, destination=reader.destination, lane=lane, domain="",
                created_at=MORNING, due_at=MORNING,
            )  # fmt: skip


def alerts() -> list[dict[str, Any]]:
    return list(Delivery.objects.filter(kind="alert").values_list("context", flat=True))


@pytest.fixture
def admin() -> None:
    get_user_model().objects.create_superuser("ada", "ada@example.org", "x")


@pytest.mark.django_db
def test_an_account_has_its_caps_from_the_start(lane: Lane) -> None:
    assert (lane.per_day, lane.per_recipient) == (1_000, 10)


def test_a_recipient_gets_so_many_in_a_day_and_the_rest_on_the_next(
    newsletter: Subscribable, lane: Lane, twilio: Twilio, admin: None
) -> None:
    alter_lane(lane=lane, per_recipient=2)
    queued(newsletter, lane, issues=5, readers=2)
    go_out(MORNING)
    assert len(bodies(twilio)) == 4
    late = Delivery.objects.filter(state="queued")
    assert set(late.values_list("due_at", "last_error")) == {(datetime(2026, 3, 5, tzinfo=UTC), OVER)}
    assert tell_of_caps(now=MORNING) == 1
    assert tell_of_caps(now=MORNING + timedelta(hours=3)) == 0
    [said] = alerts()
    assert "6 messages wait" in " ".join(said["sentences"])
    go_out(MORNING + timedelta(hours=14))
    assert len(bodies(twilio)) == 4
    for days in (1, 2):
        go_out(MORNING + timedelta(days=days))
    assert len(bodies(twilio)) == 10
    assert not Delivery.objects.exclude(kind="alert").exclude(state="sent").exists()


def test_an_account_sends_so_many_in_24_hours_and_the_rest_after_them(
    newsletter: Subscribable, lane: Lane, twilio: Twilio, admin: None
) -> None:
    alter_lane(lane=lane, per_day=3)
    queued(newsletter, lane, issues=1, readers=5)
    go_out(MORNING)
    assert len(bodies(twilio)) == 3
    tell_of_caps(now=MORNING)
    tell_of_caps(now=MORNING)
    [said] = alerts()
    assert "2 messages wait" in " ".join(said["sentences"])
    go_out(MORNING + timedelta(hours=23))
    assert len(bodies(twilio)) == 3
    go_out(MORNING + timedelta(hours=25))
    assert len(bodies(twilio)) == 5


def test_where_nothing_waits_nobody_is_told(
    newsletter: Subscribable, lane: Lane, twilio: Twilio, admin: None
) -> None:
    alter_lane(lane=lane, per_day=1)
    queued(newsletter, lane, issues=1)
    go_out(MORNING)
    assert tell_of_caps(now=MORNING) == 0


def test_a_cap_that_is_raised_lets_them_go_at_once(
    newsletter: Subscribable, lane: Lane, twilio: Twilio
) -> None:
    alter_lane(lane=lane, per_recipient=1)
    queued(newsletter, lane, issues=2)
    go_out(MORNING)
    assert len(bodies(twilio)) == 1
    alter_lane(lane=lane, per_recipient=None)
    go_out(MORNING)
    assert len(bodies(twilio)) == 2


@pytest.mark.django_db
def test_the_day_is_that_of_utc() -> None:
    east = datetime.fromisoformat("2026-03-05T00:30:00+05:00")
    assert next_day(east) == datetime(2026, 3, 5, tzinfo=UTC)
