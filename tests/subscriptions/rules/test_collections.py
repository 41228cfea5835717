"""The collection of an item, also if the schedule is edited while collections are open.

The names of collections.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subscriptions.rules.collections import OpenCollection, Slot, period_slot, within_type_id_for
from subscriptions.rules.schedule import Period, Schedule, period_for
from tests.examples import examples
from tests.subscriptions.rules.strategies import moments, schedules, zones

UTC_ZONE = ZoneInfo("UTC")
MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
DAILY, WEEKLY = Schedule("daily"), Schedule("weekly")
SCHEDULES = (
    DAILY,
    WEEKLY,
    Schedule("daily", at=time(7)),
    Schedule("weekly", weekday=2),
    Schedule("monthly"),
    Schedule("monthly", day_of_month=31, at=time(7)),
    Schedule("cron", cron="0 7 * * 1,4"),
    Schedule("cron", cron="*/30 * * * *"),
)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def slot(
    final_at: datetime,
    *,
    now: datetime | None = None,
    schedule: Schedule = DAILY,
    issued_through: datetime | None = None,
    collections: tuple[OpenCollection, ...] = (),
) -> Slot:
    return period_slot(
        final_at=final_at,
        now=now or final_at,
        schedule=schedule,
        zone=UTC_ZONE,
        issued_through=issued_through,
        collections=collections,
    )


def opened(found: Slot, *, sealed: bool = False) -> OpenCollection:
    assert found.end is not None
    return OpenCollection(found.within_type_id, found.end, sealed)


def test_an_item_goes_into_the_period_it_became_final_in() -> None:
    late = slot(MONDAY + 23 * HOUR, now=MONDAY + 26 * HOUR)
    assert (late.within_type_id, late.start, late.end) == ("2026-03-02T00:00:00Z", MONDAY, MONDAY + DAY)


def test_a_sealed_period_takes_nothing_more() -> None:
    monday = opened(slot(MONDAY), sealed=True)
    found = slot(MONDAY + HOUR, now=MONDAY + 25 * HOUR, collections=(monday,))
    assert found.start == MONDAY + DAY


def test_while_the_present_period_is_sealed_too_the_next_one_takes_it() -> None:
    monday = opened(slot(MONDAY), sealed=True)
    assert slot(MONDAY + HOUR, collections=(monday,)).start == MONDAY + DAY


def test_an_issued_period_takes_nothing_more() -> None:
    found = slot(MONDAY + HOUR, now=MONDAY + 3 * DAY + HOUR, issued_through=MONDAY + DAY)
    assert found.start == MONDAY + 3 * DAY


def test_from_daily_to_weekly_the_open_day_keeps_its_end() -> None:
    monday = opened(slot(MONDAY))
    weekly = slot(MONDAY + HOUR, schedule=WEEKLY, collections=(monday,))
    assert weekly.within_type_id != monday.within_type_id
    assert weekly.end == MONDAY + 7 * DAY
    again = slot(MONDAY + 2 * HOUR, schedule=WEEKLY, collections=(monday, opened(weekly)))
    assert again.within_type_id == weekly.within_type_id


def test_from_weekly_to_daily_the_open_week_keeps_its_end() -> None:
    week = opened(slot(MONDAY, schedule=WEEKLY))
    daily = slot(MONDAY + HOUR, collections=(week,))
    assert daily.within_type_id != week.within_type_id
    assert daily.end == MONDAY + DAY


def test_a_period_that_an_edit_stretched_begins_where_the_last_issue_ended() -> None:
    tuesday = MONDAY + DAY
    found = slot(tuesday + HOUR, schedule=WEEKLY, issued_through=tuesday)
    assert (found.start, found.end) == (tuesday, MONDAY + 7 * DAY)


def test_a_schedule_without_periods_is_refused() -> None:
    with pytest.raises(ValueError, match="no periods"):
        slot(MONDAY, schedule=Schedule("each"))


@dataclass
class Newsletter:
    """Model of a newsletter with periods as in the database, with its invariants."""

    schedule: Schedule
    now: datetime = MONDAY
    issued_through: datetime | None = None
    open: dict[str, OpenCollection] = field(default_factory=dict)
    issued: set[str] = field(default_factory=set)

    def assign(self, age: timedelta) -> None:
        found = slot(
            self.now - age,
            now=self.now,
            schedule=self.schedule,
            issued_through=self.issued_through,
            collections=tuple(self.open.values()),
        )
        assert found.start is not None
        assert found.end is not None
        there = self.open.setdefault(found.within_type_id, opened(found))
        assert not there.sealed, "a sealed collection takes no item"
        assert there.end == found.end, "it goes out at the end it was opened with"
        assert found.within_type_id not in self.issued, "no period is issued twice"
        assert found.start < found.end
        assert self.issued_through is None or found.end > self.issued_through

    def seal(self) -> None:
        for name, one in self.open.items():
            if one.end <= self.now:
                self.open[name] = OpenCollection(name, one.end, sealed=True)

    def issue(self) -> None:
        for name in [name for name, one in self.open.items() if one.sealed]:
            end = self.open.pop(name).end
            self.issued.add(name)
            self.issued_through = max(end, self.issued_through or end)


steps = st.one_of(
    st.tuples(st.just("wait"), st.integers(1, 20 * 24 * 60)),
    st.tuples(st.just("wait"), st.integers(1, 90)),
    st.tuples(st.just("assign"), st.integers(0, 40 * 24 * 60)),
    st.tuples(st.just("assign"), st.integers(0, 60)),
    st.tuples(st.just("edit"), st.integers(0, len(SCHEDULES) - 1)),
    st.tuples(st.just("seal"), st.just(0)),
    st.tuples(st.just("issue"), st.just(0)),
)


@given(st.lists(steps, max_size=60))
@settings(max_examples=examples(400))
def test_whatever_is_edited_no_period_is_issued_twice_and_none_sealed_takes_more(
    story: list[tuple[str, int]],
) -> None:
    newsletter = Newsletter(DAILY)
    for act, number in story:
        if act == "wait":
            newsletter.now += timedelta(minutes=number)
        elif act == "assign":
            newsletter.assign(timedelta(minutes=number))
        elif act == "edit":
            newsletter.schedule = SCHEDULES[number]
        elif act == "seal":
            newsletter.seal()
        else:
            newsletter.issue()


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
