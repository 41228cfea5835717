"""A delivery's page says what it waits for, and what a person can do about it."""

from datetime import timedelta
from typing import Any

import pytest

from common.admin.html import inline
from delivery.admin.delivery import waits_for
from delivery.models import LaneDomain
from tests.factories import NOW, DeliveryFactory

pytestmark = pytest.mark.django_db


def said(**facts: Any) -> str:
    row = DeliveryFactory(domain="x.example", **facts)
    return inline(waits_for(row))


def a_paused_domain(row: Any) -> None:
    LaneDomain.objects.create(
        lane=row.lane, domain="x.example", refilled_at=NOW, paused=True, paused_reason="They refuse us."
    )


@pytest.mark.parametrize("state", ["sent", "queued", "deferred", "cancelled"])
def test_what_is_done_or_goes_at_its_time_waits_for_nobody(state: str) -> None:
    assert said(state=state) == ""


@pytest.mark.parametrize(
    ("held_for", "words"),
    [
        ("", "For you: nobody knows whether it arrived."),
        ("restore", "For you: a backup was restored"),
        ("pause", "The pause has ended: it is sent in a moment."),
        ("domain", "Its domain’s pause has ended: it is sent in a moment."),
    ],
)
def test_what_is_held_says_for_whom(held_for: str, words: str) -> None:
    assert words in said(state="held", held_for=held_for)


@pytest.mark.parametrize("facts", [{"state": "held", "held_for": "pause"}, {"state": "queued"}])
def test_a_pause_is_named_with_where_it_is_ended(facts: dict[str, str]) -> None:
    row = DeliveryFactory(domain="x.example", **facts)
    newsletter = row.issue.subscribable
    newsletter.sending_paused_at, newsletter.sending_paused_reason = NOW, "Many complained."
    assert f"{newsletter}</a> is paused: Many complained. Resume it" in inline(waits_for(row))
    row.issue.paused_at = NOW - timedelta(hours=1)
    assert f"{row.issue}</a> is paused. Resume it" in inline(waits_for(row))


@pytest.mark.parametrize("facts", [{"state": "held", "held_for": "domain"}, {"state": "deferred"}])
def test_a_domain_that_refuses_us_is_named_with_its_lane(facts: dict[str, str]) -> None:
    row = DeliveryFactory(domain="x.example", **facts)
    a_paused_domain(row)
    assert inline(waits_for(row)).startswith("Emails to x.example are paused in ")
    assert "They refuse us. Resume them there" in inline(waits_for(row))


def test_a_paused_lane_is_named_last() -> None:
    row = DeliveryFactory(domain="x.example", state="queued")
    row.lane.paused, row.lane.paused_reason = True, "The password is wrong."
    assert "is paused: The password is wrong. Resume it" in inline(waits_for(row))
    a_paused_domain(row)
    assert "The password is wrong." not in inline(waits_for(row))
