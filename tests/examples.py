"""How many examples Hypothesis tries: a tenth, and all with --hypothesis-profile=nightly."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

ALL, QUICK = 100, 10
# No test has a deadline, as bench/ measures speed.
settings.register_profile("quick", deadline=None, max_examples=QUICK)
settings.register_profile("nightly", deadline=None, max_examples=ALL)
settings.load_profile("quick")


def examples(many: int) -> int:
    """For a test that says how many it needs: that many at night, otherwise a share."""
    return max(many * settings().max_examples // ALL, 1)


def some_now(cases: Iterable[Any], *, every: int) -> list[Any]:
    """Parameters of a test: one of `every` is tried when the test is, the others one tier later."""
    rows = [case if type(case) is tuple else (case,) for case in cases]
    return [
        pytest.param(*row, marks=[pytest.mark.later] if place % every else [])
        for place, row in enumerate(rows)
    ]
