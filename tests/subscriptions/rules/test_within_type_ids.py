"""The names of collections."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given

from subscriptions.rules.collections import within_type_id_for
from subscriptions.rules.schedule import Period, Schedule, period_for
from tests.subscriptions.rules.strategies import moments, schedules, zones


def test_each_is_named_by_its_item_every_n_by_its_counter_a_period_by_its_start() -> None:
    period = Period(datetime(2026, 11, 21, 5, tzinfo=UTC), datetime(2026, 11, 22, 5, tzinfo=UTC))
    assert within_type_id_for("each", item_id=17) == "17"
    assert within_type_id_for("every_n", counter=4) == "#4"
    assert within_type_id_for("daily", period=period) == "2026-11-21T05:00:00Z"


def test_the_start_is_given_in_utc_whatever_zone_it_is_written_in() -> None:
    zone = ZoneInfo("Asia/Kolkata")
    period = Period(datetime(2026, 1, 1, tzinfo=zone), datetime(2026, 1, 2, tzinfo=zone))
    assert within_type_id_for("daily", period=period) == "2025-12-31T18:30:00Z"


@pytest.mark.parametrize("arrangement", ["each", "every_n", "weekly"])
def test_nothing_to_name_it_by_is_an_error(arrangement: str) -> None:
    with pytest.raises(ValueError, match="Nothing to name"):
        within_type_id_for(arrangement)


@given(moment=moments, schedule=schedules, zone=zones)
def test_neighbouring_periods_have_different_names(
    moment: datetime, schedule: Schedule, zone: ZoneInfo
) -> None:
    period = period_for(moment, schedule, zone)
    following = period_for(period.end, schedule, zone)
    names = {within_type_id_for(schedule.arrangement, period=each) for each in (period, following)}
    assert len(names) == 2
    assert {len(name) for name in names} == {20}
