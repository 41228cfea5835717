from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from feeds.rules.pace import LONGEST_RETRY_AFTER, first_pause, host_rests_until, retry_at

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_seconds_and_dates_are_both_understood() -> None:
    assert retry_at("120", NOW) == NOW + timedelta(minutes=2)
    assert retry_at(format_datetime(NOW + HOUR, usegmt=True), NOW) == NOW + HOUR


def test_a_date_that_is_past_means_now_and_a_far_one_a_week() -> None:
    assert retry_at(format_datetime(NOW - HOUR, usegmt=True), NOW) == NOW
    assert retry_at("99999999", NOW) == NOW + LONGEST_RETRY_AFTER
    assert (
        retry_at(format_datetime(NOW + 99 * LONGEST_RETRY_AFTER, usegmt=True), NOW)
        == NOW + LONGEST_RETRY_AFTER
    )


@pytest.mark.parametrize("nonsense", ["", "soon", "-5", "1.5", "Fri, 99 Foo 2026"])
def test_anything_else_is_not_a_wish(nonsense: str) -> None:
    assert retry_at(nonsense, NOW) is None


@given(st.text(max_size=60))
def test_no_header_raises_or_leaves_its_bounds(header: str) -> None:
    found = retry_at(header, NOW)
    assert found is None or NOW <= found <= NOW + LONGEST_RETRY_AFTER


@pytest.mark.parametrize(("status", "pause"), [(403, 60), (429, 60), (500, 10), (404, 10), (None, 10)])
def test_who_keeps_us_away_is_left_alone_for_an_hour_at_the_least(status: int | None, pause: int) -> None:
    assert first_pause(status, timedelta(minutes=10)) == timedelta(minutes=pause)
    assert first_pause(status, timedelta(hours=5)) == timedelta(hours=5)


def test_a_host_that_says_we_ask_too_often_rests_a_minute_or_as_it_wishes_up_to_an_hour() -> None:
    assert host_rests_until(429, "", NOW) == NOW + timedelta(minutes=1)
    assert host_rests_until(429, "300", NOW) == NOW + timedelta(minutes=5)
    assert host_rests_until(429, "86400", NOW) == NOW + timedelta(hours=1)
    assert host_rests_until(503, "300", NOW) is None
    assert host_rests_until(None, "", NOW) is None
