"""Schedules and moments in words."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest

from common.clock import zone_words
from subscriptions.rules.completion import describe, moment_words
from subscriptions.rules.schedule import Schedule


@pytest.mark.parametrize(
    ("schedule", "n", "words"),
    [
        (Schedule("each"), None, "each post as it appears"),
        (Schedule("every_n"), 1, "each post as it appears"),
        (Schedule("every_n"), 3, "every 3 posts"),
        (Schedule("daily", time(7)), None, "every day at 7:00, New York time"),
        (Schedule("weekly", time(7), 0), None, "every Monday at 7:00, New York time"),
        (Schedule("weekly", time(18, 5), 6), None, "every Sunday at 18:05, New York time"),
        (Schedule("monthly", time(7)), None, "on the 1st of each month at 7:00, New York time"),
        (
            Schedule("monthly", time(7), day_of_month=12),
            None,
            "on the 12th of each month at 7:00, New York time",
        ),
        (
            Schedule("monthly", time(7), day_of_month=22),
            None,
            "on the 22nd of each month at 7:00, New York time",
        ),
        (
            Schedule("monthly", time(0), day_of_month=30),
            None,
            "on the 30th of each month (or its last day) at 0:00, New York time",
        ),
        (
            Schedule("monthly", time(7), day_of_month=31),
            None,
            "on the last day of each month at 7:00, New York time",
        ),
        (Schedule("cron", cron="0 18 * * 1,4"), None, "every Monday and Thursday at 18:00, New York time"),
        (
            Schedule("cron", cron="0 7 * * MON-FRI"),
            None,
            "every day from Monday to Friday at 7:00, New York time",
        ),
        (Schedule("cron", cron="30 7,18 * * *"), None, "every day at 7:30 and 18:30, New York time"),
        (
            Schedule("cron", cron="0 7 1,15,L * *"),
            None,
            "on the 1st, 15th and last day of each month at 7:00, New York time",
        ),
        (
            Schedule("cron", cron="0 7 * * 5L"),
            None,
            "at 07:00 on the last Friday of the month, New York time",
        ),
    ],
)
def test_the_rhythm_in_words(schedule: Schedule, n: int | None, words: str) -> None:
    assert describe(schedule, n, ZoneInfo("America/New_York")) == words


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("UTC", "UTC"),
        ("Etc/UTC", "UTC"),
        ("Australia/Lord_Howe", "Lord Howe time"),
        ("America/Argentina/Buenos_Aires", "Buenos Aires time"),
        ("Etc/GMT-3", "UTC+3"),
        ("Etc/GMT+11", "UTC-11"),
    ],
)
def test_a_zone_in_words(zone: str, words: str) -> None:
    assert zone_words(ZoneInfo(zone)) == words


def test_a_moment_in_words_is_local() -> None:
    moment = datetime(2026, 11, 23, 12, 5, 59, tzinfo=UTC)
    words = moment_words(moment, ZoneInfo("America/New_York"))
    assert words == "Monday, 23 November 2026 at 7:05, New York time"
