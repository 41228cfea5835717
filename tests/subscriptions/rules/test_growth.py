"""Days and weeks of a list's growth."""

from collections import Counter
from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.origin import GrowthStretch, by_day, by_week, first_monday, totals

TODAYS = st.dates(min_value=date(2001, 1, 1), max_value=date(2100, 1, 1))


@given(TODAYS, st.lists(st.integers(0, 380), max_size=40))
def test_every_day_of_the_year_is_in_one_week(today: date, backs: list[int]) -> None:
    days = Counter(today - timedelta(days=back) for back in backs)
    weeks = by_week({"left": days}, today=today, count=53)
    inside = sum(count for day, count in days.items() if day >= first_monday(today, 53))
    assert totals(weeks).left == inside
    assert {week.start.weekday() for week in weeks} == {0}
    assert weeks[-1].start <= today < weeks[-1].start + timedelta(days=7)


@given(TODAYS)
def test_days_without_anything_are_there_too(today: date) -> None:
    days = by_day({"new": {today: 3}}, today=today, count=84)
    assert (len(days), days[-1]) == (84, GrowthStretch(today, new=3))
    assert days[0] == GrowthStretch(today - timedelta(days=83))
