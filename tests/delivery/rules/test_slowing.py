"""A lane that must slow down halves its rate, and recovers by doubling it."""

from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.limits import after_success, slowed

counts, failures = st.integers(0, 10_000), st.integers(0, 10_000)


def test_each_failure_halves_what_may_go() -> None:
    assert [slowed(300, level) for level in range(5)] == [300, 150, 75, 37, 18]


@given(counts, failures)
def test_a_slow_lane_sends_less_and_never_nothing(count: int, failures: int) -> None:
    left = slowed(count, failures)
    assert min(count, 1) <= left <= count
    assert slowed(count, failures + 1) <= left


@given(failures)
def test_successes_lead_back_to_full_speed_step_by_step(failures: int) -> None:
    after = after_success(failures, serial=False, is_idle=False)
    assert after == max(failures - 1, 0)
    assert after_success(failures, serial=True, is_idle=False) == 0
    assert after_success(failures, serial=False, is_idle=True) == 0
