"""Tiers of tests, and how many examples Hypothesis tries (a tenth; all at night)."""

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from hypothesis import settings

# Slow tests run in `.ci/run`, and in `make nightly` the ones that take minutes, too.
SLOW, NIGHTLY = pytest.mark.slow, pytest.mark.slow(nightly=True)
ALL, QUICK = 100, 10
# No test has a deadline, as bench/ measures speed.
settings.register_profile("quick", deadline=None, max_examples=QUICK)
settings.register_profile("nightly", deadline=None, max_examples=ALL)
settings.load_profile("quick")


def examples(many: int) -> int:
    """For a test that says how many it needs: that many at night, otherwise a share."""
    return max(many * settings().max_examples // ALL, 1)


def some_now(cases: Iterable[Any], *, every: int = 0) -> list[Any]:
    """Return parameters: of `every` one, or the first alone, runs when the test does, and all at night."""
    rows = [case if isinstance(case, ParameterSet) else pytest.param(*row_of(case)) for case in cases]
    return [
        row._replace(marks=[*row.marks, NIGHTLY]) if (place % every if every else place) else row
        for place, row in enumerate(rows)
    ]


def row_of(case: Any) -> tuple[Any, ...]:
    return case if type(case) is tuple else (case,)
