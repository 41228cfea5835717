"""When a pause ends."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.switches import LENGTHS, BadDate, bounds, day_after, pause_end
from tests.subscriptions.rules.strategies import moments, zones

NEW_YORK = ZoneInfo("America/New_York")
# Still the 31st of January in that zone.
NOW = datetime(2026, 2, 1, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("length", "day"),
    [("week", date(2026, 2, 7)), ("fortnight", date(2026, 2, 14)), ("month", date(2026, 2, 28))],
)
def test_a_pause_is_counted_on_the_newsletters_calendar(length: str, day: date) -> None:
    assert day_after(length, now=NOW, zone=NEW_YORK) == day


def test_a_pause_ends_with_the_beginning_of_its_day() -> None:
    assert pause_end(date(2026, 2, 7), now=NOW, zone=NEW_YORK) == datetime(2026, 2, 7, 5, tzinfo=UTC)


@pytest.mark.parametrize("day", [date(2026, 1, 31), date(2025, 6, 1), date(2027, 2, 1)])
def test_a_day_that_is_past_or_more_than_a_year_off_is_refused(day: date) -> None:
    with pytest.raises(BadDate):
        pause_end(day, now=NOW, zone=NEW_YORK)


def test_tomorrow_and_the_day_in_a_year_are_fine() -> None:
    first, last = bounds(now=NOW, zone=NEW_YORK)
    assert (first, last) == (date(2026, 2, 1), date(2027, 1, 31))
    assert pause_end(first, now=NOW, zone=NEW_YORK) < pause_end(last, now=NOW, zone=NEW_YORK)


def test_another_length_is_refused() -> None:
    with pytest.raises(BadDate):
        day_after("decade", now=NOW, zone=NEW_YORK)


@given(st.sampled_from(LENGTHS), moments, zones)
def test_every_length_ends_later_than_now_and_within_the_bounds(
    length: str, now: datetime, zone: ZoneInfo
) -> None:
    end = pause_end(day_after(length, now=now, zone=zone), now=now, zone=zone)
    assert now < end < now + timedelta(days=33)
