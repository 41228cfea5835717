"""The newsletter that gets a post while a reader switches between two.

When a pause ends.
"""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.schedule import Schedule
from subscriptions.rules.switches import (
    LENGTHS,
    BadDate,
    Bound,
    Place,
    Rhythm,
    bound_of,
    bounds,
    day_after,
    goes_to_new,
    goes_to_old,
    is_nested,
    is_olds,
    is_rarer,
    pause_end,
)
from tests.subscriptions.rules.strategies import moments, schedules, zones

NEW_YORK = ZoneInfo("America/New_York")
# Still the 31st of January in that zone.
PAUSE_NOW = datetime(2026, 2, 1, 3, tzinfo=UTC)
UTC_ZONE = ZoneInfo("UTC")
# A Wednesday; the weekly letter is sent on Monday at six.
NOW = datetime(2026, 3, 4, 12, 0, 30, tzinfo=UTC)
MONDAY = datetime(2026, 3, 9, 18, tzinfo=UTC)


def a_rhythm(arrangement: str, n: int | None = None, **details: object) -> Rhythm:
    return Rhythm(Schedule(arrangement, **details), UTC_ZONE, n)  # type: ignore[arg-type]


EACH, DAILY, MONTHLY = a_rhythm("each"), a_rhythm("daily", at=time(7)), a_rhythm("monthly", at=time(7))
WEEKLY = a_rhythm("weekly", at=time(18))
THREE, FIVE = a_rhythm("every_n", 3), a_rhythm("every_n", 5)
TWICE_A_WEEK = a_rhythm("cron", cron="0 7 * * 1,4")


def bound(rarer: Rhythm, counter: int = 1, held: int = 0, ends: tuple[datetime, ...] = ()) -> Bound:
    return bound_of(rarer, now=NOW, open_ends=ends, counter=counter, held=held)


def test_rhythms_have_an_order() -> None:
    order = [EACH, THREE, FIVE, DAILY, TWICE_A_WEEK, WEEKLY, MONTHLY]
    for place, one in enumerate(order):
        assert [is_rarer(other, one, NOW) for other in order] == [
            position > place for position in range(len(order))
        ]


@given(st.builds(Rhythm, schedules, zones), st.builds(Rhythm, schedules, zones), moments)
def test_of_two_at_most_one_comes_less_often(one: Rhythm, other: Rhythm, now: datetime) -> None:
    assert not (is_rarer(one, other, now) and is_rarer(other, one, now))


def test_a_switch_takes_effect_at_the_end_of_the_rarer_newsletters_open_period() -> None:
    assert bound(WEEKLY) == Bound(at=MONDAY)


def test_a_collection_that_kept_a_later_end_is_waited_for() -> None:
    """Its posts were in none of the daily letters to come."""
    later = MONDAY + timedelta(days=20)
    assert bound(WEEKLY, ends=(MONDAY, later)) == Bound(at=later)


def test_without_a_calendar_a_switch_waits_for_the_letter_that_is_being_filled() -> None:
    assert bound(THREE, counter=7, held=2) == Bound(number=7)
    assert bound(THREE, counter=7, held=0) == Bound(number=6)


def test_between_two_of_each_post_a_switch_takes_effect_with_the_next_minute() -> None:
    assert bound(EACH) == Bound(at=datetime(2026, 3, 4, 12, 1, tzinfo=UTC))


@given(st.builds(Rhythm, schedules, zones), moments)
def test_a_switch_never_lies_in_the_past(rhythm: Rhythm, now: datetime) -> None:
    at = bound_of(rhythm, now=now, open_ends=(), counter=1, held=0).at
    assert at is not None
    assert at > now


@pytest.mark.parametrize(
    ("at", "other", "nested"),
    [
        (Bound(at=MONDAY), EACH, True),
        (Bound(at=MONDAY), a_rhythm("daily", at=time(18)), True),
        (Bound(at=MONDAY), DAILY, False),
        (Bound(at=MONDAY), THREE, False),
        (Bound(number=3), EACH, True),
        (Bound(number=3), DAILY, False),
    ],
)
def test_posts_come_twice_only_where_the_other_is_not_cut_there_too(
    at: Bound, other: Rhythm, nested: bool
) -> None:
    assert is_nested(at, other) is nested


def place(**facts: object) -> Place:
    return Place(**{"final_at": NOW, **facts})  # type: ignore[arg-type]


def olds(cut: Bound, where: Place, *, is_over: bool = False) -> bool:
    return is_olds(cut, where, is_over=is_over)


def test_a_post_is_whose_its_collection_is() -> None:
    cut = Bound(at=MONDAY)
    assert olds(cut, place(end=MONDAY))
    assert not olds(cut, place(end=MONDAY + timedelta(days=7)))
    # It settled in time but was collected late: into the next letter.
    assert not olds(cut, place(final_at=NOW, end=MONDAY + timedelta(days=7)))


def test_a_post_that_the_rarer_newsletter_does_not_have_goes_by_when_it_settled() -> None:
    cut = Bound(at=MONDAY)
    assert olds(cut, place(final_at=MONDAY - timedelta(seconds=1)))
    assert not olds(cut, place(final_at=MONDAY))


def test_a_numbered_letter_is_the_olds_up_to_the_bound() -> None:
    assert olds(Bound(number=3), place(number=3))
    assert not olds(Bound(number=3), place(number=4))


def test_a_post_that_the_counting_newsletter_left_out_goes_to_who_gets_it_now() -> None:
    assert olds(Bound(number=3), place(), is_over=False)
    assert not olds(Bound(number=3), place(), is_over=True)


@given(st.lists(st.booleans(), min_size=1))
def test_an_issue_goes_to_somebody_and_to_both_only_with_posts_of_both(posts: list[bool]) -> None:
    to_old, to_new = goes_to_old(posts), goes_to_new(posts)
    assert to_old or to_new
    assert (to_old and to_new) == (True in posts and False in posts)


@pytest.mark.parametrize(
    ("length", "day"),
    [("week", date(2026, 2, 7)), ("fortnight", date(2026, 2, 14)), ("month", date(2026, 2, 28))],
)
def test_a_pause_is_counted_on_the_newsletters_calendar(length: str, day: date) -> None:
    assert day_after(length, now=PAUSE_NOW, zone=NEW_YORK) == day


def test_a_pause_ends_with_the_beginning_of_its_day() -> None:
    assert pause_end(date(2026, 2, 7), now=PAUSE_NOW, zone=NEW_YORK) == datetime(2026, 2, 7, 5, tzinfo=UTC)


@pytest.mark.parametrize("day", [date(2026, 1, 31), date(2025, 6, 1), date(2027, 2, 1)])
def test_a_day_that_is_past_or_more_than_a_year_off_is_refused(day: date) -> None:
    with pytest.raises(BadDate):
        pause_end(day, now=PAUSE_NOW, zone=NEW_YORK)


def test_tomorrow_and_the_day_in_a_year_are_fine() -> None:
    first, last = bounds(now=PAUSE_NOW, zone=NEW_YORK)
    assert (first, last) == (date(2026, 2, 1), date(2027, 1, 31))
    assert pause_end(first, now=PAUSE_NOW, zone=NEW_YORK) < pause_end(last, now=PAUSE_NOW, zone=NEW_YORK)


def test_another_length_is_refused() -> None:
    with pytest.raises(BadDate):
        day_after("decade", now=PAUSE_NOW, zone=NEW_YORK)


@given(st.sampled_from(list(LENGTHS)), moments, zones)
def test_every_length_ends_later_than_now_and_within_the_bounds(
    length: str, now: datetime, zone: ZoneInfo
) -> None:
    end = pause_end(day_after(length, now=now, zone=zone), now=now, zone=zone)
    assert now < end < now + timedelta(days=33)
