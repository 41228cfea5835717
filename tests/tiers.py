"""When a test runs: `pytest` takes the quick tier, `pytest -m slow` the slow one, `make nightly` all."""

from collections.abc import Iterable

import pytest

QUICK, SLOW, NIGHTLY = TIERS = ("quick", "slow", "nightly")


def tier_of(marks: Iterable[pytest.Mark], *, is_first: bool, least: str = QUICK) -> str:
    """Return the tier of one case of a test. The closest marks come first.

    Cases that are marked `later`, and all but the first of `every_case`, run one tier after their test, or in
    the tier that the mark names. None runs before `least`.
    """
    by_name = {mark.name: mark for mark in reversed(list(marks))}
    tier = next((TIERS.index(name) for name in (NIGHTLY, SLOW) if name in by_name), 0)
    cases = by_name.get("every_case")
    if "later" in by_name or (cases and not is_first):
        tier = TIERS.index(cases.args[0]) if cases and cases.args else min(tier + 1, TIERS.index(NIGHTLY))
    return TIERS[max(tier, TIERS.index(least))]
