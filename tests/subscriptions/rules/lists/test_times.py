"""Times in the formats of other programs."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.lists.rows import NoTime, read_moment

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-02 12:00:00",
        "2026-03-02T12:00:00Z",
        "2026-03-02 12:00:00 UTC",
        "2026-03-02 12:00:00 +0000 UTC",
        "2026-03-02 12:00:00.0 +0000 UTC",
        "2026-03-02 12:00:00.00001 +0000 UTC",
        "2026-03-02 14:00:00.123456789 +0200 CEST",
        "2026-03-02 06:30:00 -0530 -0530",
        "1772452800",
        "1772452800000",
    ],
)
def test_a_time_is_read_in_whatever_form(text: str) -> None:
    assert read_moment(text) == NOON


@pytest.mark.parametrize(
    ("text", "dates", "day"),
    [
        ("3/4/2026", "dmy", (2026, 4, 3)),
        ("3/4/2026", "mdy", (2026, 3, 4)),
        ("03-04-2026", "dmy", (2026, 4, 3)),
        ("3.4.2026", "", (2026, 4, 3)),
        ("31/12/2025", "", (2025, 12, 31)),
        ("12/31/2025", "", (2025, 12, 31)),
        ("31/12/2025", "mdy", (2025, 12, 31)),
        ("5/5/2026 07:30", "", (2026, 5, 5)),
    ],
)
def test_days_are_read_in_the_order_that_was_said_or_can_only_be_meant(
    text: str, dates: str, day: tuple[int, int, int]
) -> None:
    read = read_moment(text, dates)
    assert (read.year, read.month, read.day) == day


def test_what_may_be_two_days_is_asked_about() -> None:
    with pytest.raises(NoTime, match="“3/4/2026” may be two days"):
        read_moment("3/4/2026")


@given(st.text("0123456789-/.: +TZCES", max_size=30), st.sampled_from(["", "dmy", "mdy"]))
def test_any_other_text_is_said_to_be_no_time(text: str, dates: str) -> None:
    try:
        read = read_moment(text, dates)
    except NoTime:
        return
    assert read.tzinfo is UTC
