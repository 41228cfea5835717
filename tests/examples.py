"""Number of Hypothesis examples: a seventh in `make test`, all with LONG=1."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

ALL, QUICK = 100, 15
settings.register_profile("feedletter", deadline=None, max_examples=ALL)


def load(*, slow: bool) -> None:
    """Set the profile before collection. Tests have no deadline, as bench/ measures speed."""
    settings.register_profile("feedletter", deadline=None, max_examples=ALL if slow else QUICK)
    settings.load_profile("feedletter")


def examples(many: int) -> int:
    """Return the number for a test that needs `many`: all with LONG=1, and its share without."""
    return max(many * settings.get_profile("feedletter").max_examples // ALL, 1)


def some_now(cases: Iterable[Any], *, every: int) -> list[Any]:
    """Return parameters: one of `every` runs with its test, the others one level up."""
    rows = [case if type(case) is tuple else (case,) for case in cases]
    return [
        pytest.param(*row, marks=[pytest.mark.later] if place % every else [])
        for place, row in enumerate(rows)
    ]
