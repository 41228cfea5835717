"""Moments as people say them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from common.admin.html import short_when

NOW = datetime(2026, 11, 28, 14, 42, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


@pytest.mark.parametrize(
    ("moment", "words"),
    [
        (NOW, "14:42"),
        (NOW - 14 * HOUR, "0:42"),
        (NOW + HOUR, "Today 15:42"),
        (NOW - DAY, "Yesterday 14:42"),
        (NOW + DAY, "Tomorrow 14:42"),
        (NOW - 5 * DAY, "Mon 23 Nov"),
        (NOW + 2 * DAY, "Mon 30 Nov, 14:42"),
        (NOW - 365 * DAY, "Fri 28 Nov 2025"),
        (NOW + 40 * DAY, "Thu 7 Jan 2027, 14:42"),
    ],
)
def test_a_moment_is_as_short_as_it_can_be(moment: datetime, words: str) -> None:
    assert short_when(moment, now=NOW, zone=UTC) == words


def test_the_day_is_that_of_the_zone() -> None:
    assert short_when(NOW - 15 * HOUR, now=NOW, zone=ZoneInfo("Europe/Paris")) == "0:42"
    assert short_when(NOW - 15 * HOUR, now=NOW, zone=UTC) == "Yesterday 23:42"
