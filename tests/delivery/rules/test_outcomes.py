"""The effect of an attempt on a delivery, and of failures on a lane."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.outcomes import (
    GIVE_UP,
    LANE_LONGEST,
    LEAST_TRIES,
    LONGEST_RETRY,
    Next,
    after_ambiguous,
    after_crash,
    after_temporary,
    cancel_reason,
    forbidden_pause,
    lane_pause,
)

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
MIDDLE = 0.5  # of the ±10 %
HOUR = timedelta(hours=1)


def retry(attempts: int, *, age: timedelta = timedelta(0), retry_at: datetime | None = None) -> Next:
    return after_temporary(attempts=attempts, created_at=NOW - age, retry_at=retry_at, now=NOW, chance=MIDDLE)


@pytest.mark.parametrize(("attempts", "minutes"), [(1, 1), (2, 2), (3, 4), (8, 128), (9, 240), (400, 240)])
def test_retries_come_after_one_minute_and_then_twice_as_late_up_to_four_hours(
    attempts: int, minutes: int
) -> None:
    assert retry(attempts) == Next("deferred", NOW + timedelta(minutes=minutes))


def test_a_later_time_that_the_server_named_holds_and_an_earlier_one_does_not() -> None:
    assert retry(1, retry_at=NOW + 3 * HOUR).due_at == NOW + 3 * HOUR
    assert retry(3, retry_at=NOW + timedelta(seconds=1)).due_at == NOW + timedelta(minutes=4)


def test_after_four_days_it_is_given_up() -> None:
    assert retry(20, age=GIVE_UP - 5 * HOUR).state == "deferred"
    assert retry(20, age=GIVE_UP - 3 * HOUR) == Next("failed")
    assert retry(1, retry_at=NOW + timedelta(days=30)) == Next("failed")


def test_days_on_which_nothing_was_tried_do_not_make_a_letter_fail() -> None:
    assert retry(1, age=2 * GIVE_UP).state == "deferred"
    assert retry(LEAST_TRIES - 1, age=2 * GIVE_UP).state == "deferred"
    assert retry(LEAST_TRIES, age=2 * GIVE_UP) == Next("failed")


@given(attempts=st.integers(1, 10_000), chance=st.floats(0, 1, exclude_max=True))
def test_no_back_off_is_longer_than_four_hours_and_a_bit(attempts: int, chance: float) -> None:
    after = after_temporary(attempts=attempts, created_at=NOW, retry_at=None, now=NOW, chance=chance)
    assert after.due_at is not None
    assert timedelta(seconds=54) <= after.due_at - NOW <= LONGEST_RETRY * 1.1


def crash(policy: str, attempts: int, age: timedelta = timedelta(0)) -> Next:
    return after_crash(policy, attempts=attempts, created_at=NOW - age, now=NOW, chance=MIDDLE)


def test_after_a_crash_a_message_is_due_at_once_or_held_as_the_policy_says() -> None:
    assert crash("resend", 1) == crash("look up", 1) == Next("queued", NOW)
    assert crash("hold", 1) == Next("held")


def test_a_message_whose_workers_die_again_and_again_waits_longer_each_time() -> None:
    assert crash("resend", 2) == Next("deferred", NOW + timedelta(minutes=1))
    assert crash("resend", 4) == Next("deferred", NOW + timedelta(minutes=4))
    assert crash("resend", 40, age=GIVE_UP) == Next("failed")


def ambiguous(policy: str, attempts: int, age: timedelta = timedelta(0), ends: int = 1) -> Next:
    return after_ambiguous(
        policy, attempts=attempts, created_at=NOW - age, now=NOW, unknown_ends=ends, chance=MIDDLE
    )


def test_what_may_have_arrived_is_looked_up_or_held_as_the_channel_can() -> None:
    assert ambiguous("look up", 5) == Next("deferred", NOW + timedelta(minutes=16))
    assert ambiguous("look up", 30, age=GIVE_UP) == Next("failed")
    assert ambiguous("hold", 1) == Next("held")


@given(
    st.integers(1, 50), st.integers(1, 5), st.timedeltas(timedelta(0), timedelta(days=30)), st.floats(0, 1)
)
def test_what_may_have_arrived_is_sent_three_times_at_most_with_long_waits(
    attempts: int, ends: int, age: timedelta, chance: float
) -> None:
    after = after_ambiguous(
        "resend", attempts=attempts, created_at=NOW - age, now=NOW, unknown_ends=ends, chance=chance
    )
    if ends > 2:
        assert after == Next("held")
    else:
        assert after.state == "deferred"
        assert after.due_at is not None
        assert timedelta(minutes=15 if ends == 1 else 60) <= after.due_at - NOW <= timedelta(minutes=75)


def pause(failures: int, retry_at: datetime | None = None) -> timedelta:
    return lane_pause(failures, now=NOW, retry_at=retry_at, chance=MIDDLE) - NOW


def test_a_lane_rests_from_fifteen_seconds_to_fifteen_minutes() -> None:
    assert [pause(n).total_seconds() for n in (1, 2, 3)] == [15, 30, 60]
    assert pause(50) == LANE_LONGEST


def test_a_lane_rests_as_long_as_the_server_asks_but_no_longer_than_a_day() -> None:
    assert pause(1, NOW + HOUR) == HOUR
    assert pause(1, NOW - HOUR) == timedelta(seconds=15)
    assert pause(1, NOW + timedelta(days=400)) == timedelta(days=1)


@pytest.mark.parametrize(
    ("kind", "status", "reason"),
    [
        ("issue", "confirmed", ""),
        ("issue", "unsubscribed", "Left before it was sent."),
        ("issue", "unconfirmed", "The subscription is no longer confirmed."),
        ("issue", None, "The subscription was deleted before it was sent."),
        ("confirmation", "unconfirmed", ""),
        ("confirmation", "unsubscribed", "Left before it was sent."),
        ("welcome", "unsubscribed", "Left before it was sent."),
        ("farewell", "unsubscribed", ""),
        ("sign_in", "unsubscribed", ""),
        ("test", None, ""),
        ("alert", None, ""),
    ],
)
def test_who_gets_what_after_leaving(kind: str, status: str | None, reason: str) -> None:
    assert cancel_reason(kind, status, suppressed=False) == reason


@given(
    kind=st.sampled_from(["issue", "confirmation", "welcome", "sign_in", "farewell", "alert", "test"]),
    status=st.sampled_from([None, "confirmed", "unconfirmed", "unsubscribed"]),
)
def test_a_suppressed_or_disabled_address_gets_nothing_at_all(kind: str, status: str | None) -> None:
    suppressed = cancel_reason(kind, status, suppressed=True)
    assert suppressed == "The address is on the suppression list."
    disabled = cancel_reason(kind, status, suppressed=False, disabled="550 5.1.1 No such user")
    assert disabled == "The destination is disabled: 550 5.1.1 No such user"


@pytest.mark.parametrize(
    ("since", "rest"),
    [
        (timedelta(), timedelta(hours=1)),
        (timedelta(days=2, hours=23), timedelta(hours=1)),
        (timedelta(days=3), timedelta(days=1)),
        (timedelta(days=300), timedelta(days=1)),
    ],
)
def test_a_destination_that_refuses_us_is_asked_hourly_and_daily_then(
    since: timedelta, rest: timedelta
) -> None:
    assert forbidden_pause(NOW - since, now=NOW) == NOW + rest
