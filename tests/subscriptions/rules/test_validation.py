"""Valid values of an admin's settings, and error messages."""

from datetime import UTC, time
from zoneinfo import available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.schedule import Schedule
from subscriptions.rules.validation import InvalidSchedule, check_schedule, check_zone
from tests.subscriptions.rules.strategies import schedules


@given(name=st.sampled_from(sorted(available_timezones())))
def test_every_zone_of_the_database_is_taken(name: str) -> None:
    assert check_zone(name).key == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("america/new york", "Did you mean America/New_York"),
        ("Europe/Pariss", "Did you mean Europe/Paris"),
        ("America", "time zone “America”"),
        ("../../etc/passwd", "time zone"),
        ("right/UTC", "time zone"),
        ("", "Use one such as Europe/Paris"),
        ("\0", "Use one such as Europe/Paris"),
    ],
)
def test_an_unknown_zone_is_refused_with_what_may_have_been_meant(name: str, hint: str) -> None:
    with pytest.raises(ValueError, match="There is no time zone") as caught:
        check_zone(name)
    assert hint in str(caught.value)


def test_a_long_zone_name_is_cut_in_the_answer() -> None:
    with pytest.raises(ValueError, match="There is no time zone") as caught:
        check_zone("x" * 100_000)
    assert len(str(caught.value)) < 300


@given(schedule=schedules)
def test_a_right_schedule_gives_its_zone(schedule: Schedule) -> None:
    assert check_schedule(schedule, "Asia/Kolkata").key == "Asia/Kolkata"


@pytest.mark.parametrize(
    ("schedule", "zone", "field"),
    [
        (Schedule("daily"), "Mars/Olympus", "time_zone"),
        (Schedule("yearly"), "UTC", "arrangement"),
        (Schedule("daily", time(7, 0, 30)), "UTC", "at"),
        (Schedule("daily", time(7, tzinfo=UTC)), "UTC", "at"),
        (Schedule("weekly", weekday=7), "UTC", "weekday"),
        (Schedule("weekly", weekday=-1), "UTC", "weekday"),
        (Schedule("monthly", day_of_month=0), "UTC", "day_of_month"),
        (Schedule("monthly", day_of_month=32), "UTC", "day_of_month"),
        (Schedule("cron", cron="0 0 30 2 *"), "UTC", "cron"),
        (Schedule("cron"), "UTC", "cron"),
    ],
)
def test_a_wrong_detail_is_refused_at_its_field(schedule: Schedule, zone: str, field: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        check_schedule(schedule, zone)
    assert caught.value.field == field
    assert str(caught.value).endswith(".")
