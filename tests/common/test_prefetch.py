"""The next item is made while one is used."""

import threading
from collections.abc import Iterator

import pytest

from common.db.bulk import prefetch


def test_all_come_in_order() -> None:
    assert list(prefetch(iter(range(50)))) == list(range(50))
    assert list(prefetch(iter([]))) == []
    assert list(prefetch(iter([None, None]))) == [None, None]


def test_the_next_is_made_meanwhile_and_no_more_than_that() -> None:
    made: list[int] = []
    second = threading.Event()

    def items() -> Iterator[int]:
        for number in range(5):
            made.append(number)
            if number == 1:
                second.set()
            yield number

    going = prefetch(items())
    assert next(going) == 0
    assert second.wait(5)
    assert made == [0, 1]
    going.close()  # type: ignore[attr-defined]


def test_what_goes_wrong_comes_where_it_belongs() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("two")

    going = prefetch(items())
    assert next(going) == 1
    with pytest.raises(ValueError, match="two"):
        next(going)
