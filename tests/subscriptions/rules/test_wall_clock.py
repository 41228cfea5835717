"""From wall clock to instant, at missing and repeated hours."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given

from subscriptions.rules.schedule import first_instant, wall
from tests.examples import NIGHTLY
from tests.subscriptions.rules.strategies import EARLIEST, readings, zones


@pytest.mark.parametrize(
    ("zone", "reading", "instant"),
    [
        ("America/New_York", "2026-03-08 01:59", "2026-03-08 06:59"),
        ("America/New_York", "2026-03-08 02:00", "2026-03-08 07:00"),
        ("America/New_York", "2026-03-08 02:59", "2026-03-08 07:00"),
        ("America/New_York", "2026-03-08 03:00", "2026-03-08 07:00"),
        ("America/New_York", "2026-11-01 01:30", "2026-11-01 05:30"),
        ("America/New_York", "2026-11-01 02:00", "2026-11-01 07:00"),
        ("Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-03 15:30"),
        ("Australia/Lord_Howe", "2026-10-04 02:30", "2026-10-03 15:30"),
        ("Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-04 14:45"),
        ("Pacific/Kiritimati", "2026-01-01 00:00", "2025-12-31 10:00"),
        ("Asia/Kolkata", "2026-01-01 00:00", "2025-12-31 18:30"),
        ("Pacific/Apia", "2011-12-30 07:00", "2011-12-30 10:00"),
        ("Pacific/Apia", "2011-12-31 00:00", "2011-12-30 10:00"),
    ],
)
def test_a_gap_ends_in_its_first_instant_and_a_doubled_time_is_its_first(
    zone: str, reading: str, instant: str
) -> None:
    found = first_instant(datetime.fromisoformat(reading), ZoneInfo(zone))
    assert found == datetime.fromisoformat(f"{instant}+00:00")
    assert found.tzinfo is UTC


@given(zone=zones, reading=readings)
def test_the_clock_first_shows_the_reading_or_later_at_that_instant(
    zone: ZoneInfo, reading: datetime
) -> None:
    found = first_instant(reading, zone)
    assert wall(found - timedelta(seconds=1), zone) < reading <= wall(found, zone)
    assert found.astimezone(zone).fold == 0


@NIGHTLY
def test_this_holds_around_every_change_of_every_zone_since_2000() -> None:
    for name in sorted(available_timezones()):
        zone = ZoneInfo(name)
        for day in _days_of_change(zone):
            for quarter in range(96):
                reading = datetime.combine(day, time(0)) + timedelta(minutes=15 * quarter)
                found = first_instant(reading, zone)
                assert wall(found - timedelta(seconds=1), zone) < reading <= wall(found, zone), (
                    name,
                    reading,
                )


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a time zone"):
        wall(EARLIEST, ZoneInfo("UTC"))


def _days_of_change(zone: ZoneInfo) -> list[date]:
    # A few years, including the one in which Samoa skipped a day, take less than three seconds.
    days = []
    for year in (2001, 2006, 2011, 2018, 2025):
        start = datetime(year, 1, 1, tzinfo=UTC)
        offsets = [(start + timedelta(days=k)).astimezone(zone).utcoffset() for k in range(367)]
        days += [date(year, 1, 1) + timedelta(days=k) for k in range(366) if offsets[k] != offsets[k + 1]]
    return days
