from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from common.backoff import delay

FIRST, LIMIT = timedelta(minutes=1), timedelta(hours=4)


def test_it_doubles_from_the_first_to_the_limit() -> None:
    waits = [delay(failures, first=FIRST, limit=LIMIT, chance=0.5) for failures in (1, 2, 3, 8, 9, 500)]
    minutes = [1, 2, 4, 128, 240, 240]
    assert waits == [timedelta(minutes=count) for count in minutes]


@given(failures=st.integers(0, 10**6), chance=st.floats(0, 1, exclude_max=True))
def test_it_stays_within_a_tenth_of_its_bounds(failures: int, chance: float) -> None:
    wait = delay(failures, first=FIRST, limit=LIMIT, chance=chance)
    assert FIRST * 0.9 <= wait <= LIMIT * 1.1
