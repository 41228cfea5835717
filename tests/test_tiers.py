import pytest

from tests.tiers import NIGHTLY, QUICK, SLOW, tier_of

SLOW_MARK, NIGHTLY_MARK, LATER = pytest.mark.slow.mark, pytest.mark.nightly.mark, pytest.mark.later.mark
EVERY, EVERY_AT_NIGHT = pytest.mark.every_case.mark, pytest.mark.every_case("nightly").mark


@pytest.mark.parametrize(
    ("marks", "first", "another"),
    [
        ([], QUICK, QUICK),
        ([SLOW_MARK], SLOW, SLOW),
        ([NIGHTLY_MARK], NIGHTLY, NIGHTLY),
        ([SLOW_MARK, NIGHTLY_MARK], NIGHTLY, NIGHTLY),
        ([EVERY], QUICK, SLOW),
        ([EVERY, SLOW_MARK], SLOW, NIGHTLY),
        ([EVERY_AT_NIGHT], QUICK, NIGHTLY),
        ([EVERY, EVERY_AT_NIGHT], QUICK, SLOW),
        ([LATER], SLOW, SLOW),
        ([LATER, SLOW_MARK], NIGHTLY, NIGHTLY),
        ([LATER, NIGHTLY_MARK], NIGHTLY, NIGHTLY),
        ([LATER, EVERY], SLOW, SLOW),
    ],
)
def test_a_later_case_runs_a_tier_after_its_test(marks: list[pytest.Mark], first: str, another: str) -> None:
    assert tier_of(marks, is_first=True) == first
    assert tier_of(marks, is_first=False) == another


def test_on_the_second_database_a_package_may_wait_for_a_later_tier() -> None:
    assert tier_of([], is_first=True, least=SLOW) == SLOW
    assert tier_of([NIGHTLY_MARK], is_first=True, least=SLOW) == NIGHTLY
