"""The next email of somebody in a series, and its time."""

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.series import (
    Act,
    Last,
    RunFacts,
    Step,
    course,
    decide,
    decide_restored,
    due_at,
    next_step,
    sends_at,
)

BERLIN, HOWE = ZoneInfo("Europe/Berlin"), ZoneInfo("Australia/Lord_Howe")
SEVEN = time(7)
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"])
MOMENTS = st.datetimes(datetime(2011, 12, 1), datetime(2027, 12, 31)).map(lambda at: at.replace(tzinfo=UTC))  # noqa: DTZ001
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
STEPS = [Step(1, 0), Step(2, 2), Step(3, 1)]


def at(day: int, hour: int, minute: int = 0, month: int = 3) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


def facts(**changes: object) -> RunFacts:
    usual = {"since": at(2, 12), "sent": (), "had": (), "last": Last.OVER, "zone": BERLIN, "at": SEVEN}
    return RunFacts(**{**usual, **changes})  # type: ignore[arg-type]


def test_an_email_comes_at_the_hour_on_the_subscribers_clock_so_many_days_later() -> None:
    assert sends_at(at(2, 23, 30), 1, at=SEVEN, zone=BERLIN) == at(4, 6), "it was 3 March there"
    assert sends_at(at(2, 12), 3, at=SEVEN, zone=BERLIN) == at(5, 6)


def test_a_skipped_hour_is_the_first_instant_after_it_and_a_doubled_one_its_first() -> None:
    assert sends_at(at(28, 12), 1, at=time(2, 30), zone=BERLIN) == at(29, 1)
    assert sends_at(at(24, 12, month=10), 1, at=time(2, 30), zone=BERLIN) == at(25, 0, 30, month=10)


def test_after_a_pause_it_is_the_first_such_hour() -> None:
    assert sends_at(at(2, 12), 1, at=SEVEN, zone=BERLIN, not_before=at(9, 10)) == at(10, 6)


@given(MOMENTS, st.integers(1, 30), st.times(), ZONES, st.none() | MOMENTS)
def test_it_is_never_early_nor_more_than_three_days_late(
    since: datetime, days: int, hour: time, name: str, not_before: datetime | None
) -> None:
    zone = ZoneInfo(name)
    moment = sends_at(since, days, at=hour, zone=zone, not_before=not_before)
    assert moment > since + (days - 2) * DAY, "a day may be missing, as in Apia"
    assert not_before is None or moment >= not_before
    assert moment <= max(since + days * DAY, not_before or since) + 3 * DAY
    again = sends_at(moment, 1, at=hour, zone=zone)
    assert moment < again, "the next one comes later"


def test_the_first_email_without_days_comes_at_once() -> None:
    assert decide(facts(), STEPS, at(2, 12)).act is Act.SEND
    assert due_at(STEPS[0], facts()) == at(2, 12)


def test_the_next_one_waits_for_its_time() -> None:
    run = facts(sent=(1,), last=Last.OVER)
    waits = decide(run, STEPS, at(2, 13))
    assert (waits.act, waits.at) == (Act.WAIT, at(4, 6))
    assert decide(run, STEPS, at(4, 6)).step == STEPS[1]


def test_nobody_gets_the_next_one_before_the_last_one_was_sent() -> None:
    run = facts(sent=(1,), last=Last.GOING)
    assert decide(run, STEPS, at(20, 6)).act is Act.WAIT


def test_what_was_cancelled_because_of_a_pause_is_repeated_after_it() -> None:
    run = facts(sent=(1,), last=Last.MISSED, paused_until=at(9, 12))
    assert decide(run, STEPS, at(5, 6)).act is Act.WAIT
    assert decide(run, STEPS, at(9, 12)).act is Act.REPEAT


def test_a_pause_delays_and_is_looked_at_daily() -> None:
    run = facts(sent=(1,), last=Last.OVER, paused_until=at(20, 12))
    waits = decide(run, STEPS, at(4, 6))
    assert (waits.act, waits.at) == (Act.WAIT, at(5, 6))
    assert decide(run, STEPS, at(20, 12)).at == at(21, 6), "at its hour"


def test_who_left_waits_while_one_click_brings_them_back() -> None:
    gone = facts(is_confirmed=False, back_by=at(3, 12))
    assert decide(gone, STEPS, at(2, 12)).at == at(3, 12)
    assert decide(gone, STEPS, at(3, 12)).act is Act.PARK


def test_an_address_that_gets_nothing_is_looked_at_weekly() -> None:
    assert decide(facts(is_blocked=True), STEPS, at(2, 12)).at == at(9, 12)


def test_a_paused_email_holds_only_those_who_come_to_it() -> None:
    steps = [STEPS[0], Step(2, 1, is_paused=True), STEPS[2]]
    assert decide(facts(sent=(1,), last=Last.OVER), steps, at(9, 6)).act is Act.WAIT
    assert decide(facts(sent=(1, 2), last=Last.OVER), steps, at(9, 6)).step == STEPS[2]


def test_a_post_that_somebody_has_is_left_out() -> None:
    steps = [STEPS[0], Step(2, 1, item=77), STEPS[2]]
    assert next_step(steps, facts(sent=(1,), had={77})) == STEPS[2]
    assert next_step(steps, facts(sent=(1,), had={78})) == steps[1]


def test_the_last_one_ends_it_once_it_was_sent() -> None:
    assert decide(facts(sent=(1, 2, 3), last=Last.GOING), STEPS, at(9, 6)).act is Act.WAIT
    assert decide(facts(sent=(1, 2, 3), last=Last.OVER), STEPS, at(9, 6)).act is Act.END
    assert decide(facts(sent=(1, 2, 3), last=Last.MISSED), STEPS, at(9, 6)).act is Act.REPEAT


def test_after_a_restore_all_that_was_due_is_queued_for_a_person_to_decide() -> None:
    restored = at(5, 12)
    first = decide_restored(facts(sent=(1,), last=Last.GOING), STEPS, restored, at(6, 12))
    assert (first.act, first.step) == (Act.SEND, STEPS[1])
    again = decide_restored(facts(sent=(1,), last=Last.MISSED), STEPS, restored, at(6, 12))
    assert (again.act, again.at) == (Act.REPEAT, at(6, 12))
    later = decide_restored(facts(sent=(1, 2), last=Last.GOING, since=at(4, 6)), STEPS, at(4, 7), at(6, 12))
    assert (later.act, later.at) == (Act.WAIT, at(6, 13)), "it wasn't due before"


ORDERS = st.lists(st.permutations([1, 2, 3, 4, 5]), min_size=1, max_size=8)


@given(ORDERS, ZONES, MOMENTS)
def test_whatever_the_order_becomes_each_email_is_sent_once(
    orders: list[list[int]], name: str, begun: datetime
) -> None:
    sent: list[int] = []
    now = since = begun
    for turn in range(40):
        steps = [Step(key, 1 + key % 2) for key in orders[min(turn, len(orders) - 1)]]
        run = facts(since=since, sent=tuple(sent), zone=ZoneInfo(name))
        decision = decide(run, steps, now)
        if decision.act is Act.END:
            break
        if decision.step is not None and decision.act is Act.SEND:
            sent.append(decision.step.key)
            since = now
            continue
        assert decision.at is not None
        assert decision.at > now
        now = decision.at
    assert sorted(sent) == [1, 2, 3, 4, 5]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), ZONES, MOMENTS)
def test_the_course_that_the_page_shows_is_what_happens(days: list[int], name: str, begun: datetime) -> None:
    steps = [Step(key, each) for key, each in enumerate(days, 1)]
    shown = course(steps, begun, at=SEVEN, zone=ZoneInfo(name))
    assert all(earlier <= later for earlier, later in pairwise(shown))
    since, happened = begun, []
    for number in range(len(steps)):
        run = facts(since=since, sent=tuple(range(1, number + 1)), last=Last.OVER, zone=ZoneInfo(name))
        since = due_at(steps[number], run)
        happened.append(since)
    assert happened == shown
