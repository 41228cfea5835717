"""How many examples Hypothesis tries: a seventh in `make test`, all with LONG=1."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

ALL, QUICK = 100, 15
settings.register_profile("feedletter", deadline=None, max_examples=ALL)


def load(*, slow: bool) -> None:
    """Called before tests are collected. No test has a deadline, as bench/ measures speed."""
    settings.register_profile("feedletter", deadline=None, max_examples=ALL if slow else QUICK)
    settings.load_profile("feedletter")


def examples(many: int) -> int:
    """For a test that says how many it needs: that many with LONG=1, and its share without."""
    return max(many * settings.get_profile("feedletter").max_examples // ALL, 1)


def some_now(cases: Iterable[Any], *, every: int) -> list[Any]:
    """Parameters of a test: one of so many is tried when the test is, the others one level up."""
    rows = [case if type(case) is tuple else (case,) for case in cases]
    return [
        pytest.param(*row, marks=[pytest.mark.later] if place % every else [])
        for place, row in enumerate(rows)
    ]
