"""A serial lane sends in the order of creation; a message not yet due is waited for at most an hour."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.limits import HEAD_WAITS, Queued, serial_next

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
STATES = st.sampled_from(["queued", "deferred"])
MESSAGES = st.lists(st.tuples(STATES, st.integers(-90, 90), st.integers(0, 180)), max_size=8)


def queued(pk: int, *, state: str = "queued", due: int = 0, age: int = 10) -> Queued:
    """Return a row that is `due` in so many minutes and `age` minutes old."""
    return Queued(pk, state, NOW + due * MINUTE, NOW - age * MINUTE)


def test_the_head_goes_first() -> None:
    assert serial_next([queued(1), queued(2)], NOW) == 1


def test_nothing_goes_while_one_is_being_sent() -> None:
    assert serial_next([queued(1), queued(2, state="sending")], NOW) is None


def test_a_head_that_is_put_off_holds_the_others_back() -> None:
    assert serial_next([queued(1, state="deferred", due=5), queued(2)], NOW) is None


def test_a_head_that_is_put_off_is_passed_after_an_hour() -> None:
    assert serial_next([queued(1, state="deferred", due=5, age=60), queued(2)], NOW) == 2


def test_a_head_that_failed_before_goes_first_when_it_is_due() -> None:
    assert serial_next([queued(1, state="deferred", age=60), queued(2)], NOW) == 1
    assert serial_next([queued(1, state="deferred", age=6_000), queued(2, age=90)], NOW) == 1


def test_a_passed_head_goes_as_soon_as_it_is_due() -> None:
    late = [queued(1, state="deferred", age=90, due=1), queued(2, state="deferred", age=80)]
    assert serial_next(late, NOW) == 2
    assert serial_next(late, NOW + MINUTE) == 1


def test_a_head_that_merely_waited_long_keeps_its_place() -> None:
    assert serial_next([queued(1, age=600), queued(2, age=500)], NOW) == 1


def test_an_empty_lane_sends_nothing() -> None:
    assert serial_next([], NOW) is None


@given(MESSAGES)
def test_only_old_ones_whose_time_has_not_come_are_passed(rows: list[tuple[str, int, int]]) -> None:
    queue = [queued(pk, state=state, due=due, age=age) for pk, (state, due, age) in enumerate(rows)]
    chosen = serial_next(queue, NOW)
    if chosen is None:
        head_waits = any(row.due_at > NOW and NOW - row.created_at < HEAD_WAITS for row in queue)
        assert head_waits or not any(row.due_at <= NOW for row in queue)
        return
    assert queue[chosen].due_at <= NOW
    passed = queue[:chosen]
    assert all(row.due_at > NOW and NOW - row.created_at >= HEAD_WAITS for row in passed)


@given(MESSAGES)
def test_every_message_goes_in_the_end(rows: list[tuple[str, int, int]]) -> None:
    """In any order, sending one after the other empties the lane within hours."""
    queue = [queued(pk, state=state, due=due, age=age) for pk, (state, due, age) in enumerate(rows)]
    now, end = NOW, NOW + timedelta(hours=4)
    while queue and now < end:
        chosen = serial_next(queue, now)
        queue = [row for row in queue if row.pk != chosen]
        now += MINUTE if chosen is None else timedelta(0)
    assert queue == []
