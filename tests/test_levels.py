"""Every test runs at some level, by its marks."""

import pytest

from tests.levels import level_of

SLOW, LONG, LATER = pytest.mark.slow.mark, pytest.mark.long.mark, pytest.mark.later.mark
EVERY, EVERY_LONG = pytest.mark.every_case.mark, pytest.mark.every_case(above=2).mark


@pytest.mark.parametrize(
    ("marks", "first", "another"),
    [
        ([], 0, 0),
        ([SLOW], 1, 1),
        ([LONG], 2, 2),
        ([SLOW, LONG], 2, 2),
        ([EVERY], 0, 1),
        ([EVERY, SLOW], 1, 2),
        ([EVERY_LONG], 0, 2),
        ([EVERY, EVERY_LONG], 0, 1),
        ([LATER], 1, 1),
        ([LATER, SLOW], 2, 2),
        ([LATER, EVERY], 1, 1),
    ],
)
def test_a_later_case_runs_above_its_test(marks: list[pytest.Mark], first: int, another: int) -> None:
    assert level_of(marks, is_first=True) == first
    assert level_of(marks, is_first=False) == another


def test_on_the_second_database_later_cases_are_for_the_longest_run() -> None:
    assert level_of([EVERY], is_first=True, above=2) == 0
    assert level_of([EVERY], is_first=False, above=2) == 2
    assert level_of([LATER], is_first=True, above=2) == 2
