"""Cron lines: which are valid, and when they fire."""

from datetime import UTC, datetime
from time import perf_counter
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.schedule import Period, Schedule, check_cron, next_ends, period_for

NEW_YORK = ZoneInfo("America/New_York")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def cron(line: str) -> Schedule:
    return Schedule("cron", cron=line)


@pytest.mark.parametrize(
    "line",
    [
        *(
            "0 7 * * 1,4",
            "*/15 * * * *",
            "0 0 29 2 *",
            "0 0 29 2 */7",
            "0 0 L * *",
            "0 9 * * mon#1",
            "0 0 * * 7",
        ),
        *("0 0 1 jan *", " 0  7 * * * ", "59 23 31 12 *"),
    ],
)
def test_lines_that_fire_are_taken(line: str) -> None:
    check_cron(line)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "five fields .* has 0"),
        ("@daily", "five fields .* has 1"),
        ("0 7 * *", "five fields .* has 4"),
        ("0 0 7 * * 1", "five fields .* has 6"),
        ("x * * * *", "wrong minute"),
        ("60 * * * *", "wrong minute"),
        ("0 24 * * *", "wrong hour"),
        ("0 0 32 1 *", "wrong day"),
        ("0 0 0 * *", "wrong day"),
        ("0 0 1 13 *", "wrong month"),
        ("0 0 * * 8", "wrong weekday"),
        ("*/0 * * * *", "wrong minute"),
        ("0 0 30 2 *", "never fires: its months have no such day"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("0 0 */31 * 1#3", "never fires: there is no such date"),
        ("1," * 200 + " * * * *", "longer than 200"),
    ],
)
def test_lines_that_are_wrong_or_never_fire_are_refused_with_the_reason(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_cron(line)


@given(
    line=st.one_of(
        st.text(max_size=30),
        st.lists(st.text("0123456789*/-,L#W", min_size=1, max_size=8), min_size=5, max_size=5).map(" ".join),
    )
)
def test_any_text_is_taken_or_refused_with_a_sentence(line: str) -> None:
    refusal = _refusal(line)
    if refusal is None:
        assert len(next_ends(cron(line), NEW_YORK, utc("2026-01-01 00:00"), 2)) == 2
    else:
        assert refusal.endswith(".")


def _refusal(line: str) -> str | None:
    try:
        check_cron(line)
    except ValueError as error:
        return str(error)
    return None


def test_a_period_lies_between_two_firings() -> None:
    period = period_for(utc("2026-11-18 00:00"), cron("0 7 * * 1,4"), NEW_YORK)
    assert period == Period(utc("2026-11-16 12:00"), utc("2026-11-19 12:00"))


def test_the_last_microsecond_belongs_to_the_period_and_the_firing_does_not() -> None:
    firing = utc("2026-11-16 12:00")
    assert period_for(firing - datetime.resolution, cron("0 7 * * 1,4"), NEW_YORK).end == firing
    assert period_for(firing, cron("0 7 * * 1,4"), NEW_YORK).start == firing


@pytest.mark.parametrize("line", ["30 1 * * *", "*/30 * * * *"])
def test_a_doubled_hour_fires_once(line: str) -> None:
    ends = next_ends(cron(line), NEW_YORK, utc("2026-11-01 05:00"), 60)
    assert utc("2026-11-01 05:30") in ends
    assert utc("2026-11-01 06:30") not in ends


def test_a_skipped_firing_comes_right_after_the_gap_and_only_once() -> None:
    ends = next_ends(cron("*/30 * * * *"), NEW_YORK, utc("2026-03-08 06:00"), 3)
    assert ends == [utc("2026-03-08 06:30"), utc("2026-03-08 07:00"), utc("2026-03-08 07:30")]


def test_lord_howe_fires_once_in_its_doubled_half_hour() -> None:
    ends = next_ends(cron("45 1 * * *"), ZoneInfo("Australia/Lord_Howe"), utc("2026-04-04 00:00"), 2)
    assert ends == [utc("2026-04-04 14:45"), utc("2026-04-05 15:15")]


def test_both_days_of_a_line_with_month_day_and_weekday_count() -> None:
    ends = next_ends(cron("0 0 13 * 5"), ZoneInfo("UTC"), utc("2026-10-01 00:00"), 4)
    assert [end.day for end in ends] == [2, 9, 13, 16]


@pytest.mark.parametrize("line", ["0 0 29 2 */7", "* * * * *", "0 0 29 2 *"])
def test_looking_back_is_fast_however_rare_the_firing(line: str) -> None:
    began = perf_counter()
    for day in range(1, 21):
        period_for(utc(f"2026-02-{day:02} 00:00"), cron(line), NEW_YORK)
    assert perf_counter() - began < 1
