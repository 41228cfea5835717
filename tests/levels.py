"""Test levels: 0 in `make test`, 1 with the slow tests, from 2 on with LONG=1."""

from collections.abc import Iterable

import pytest


def level_of(marks: Iterable[pytest.Mark], *, is_first: bool, above: int = 1) -> int:
    """Return the level of one case, whose closest marks are first and count.

    A later case is `above` its test: by its mark, or as no first one of `every_case`.
    """
    by_name = {mark.name: mark for mark in reversed(list(marks))}
    level = 2 if "long" in by_name else int("slow" in by_name)
    cases = by_name.get("every_case")
    if "later" in by_name or (cases and not is_first):
        level += max(above, cases.kwargs.get("above", 1) if cases else 1)
    return level
