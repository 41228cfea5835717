"""Fetching threads: all of them are busy while there is work."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from feeds.polling.poll import Fetchers
from feeds.polling.read import Ask
from tests.factories import NOW


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_more_requests_begin_than_there_are_threads_so_that_none_waits_for_the_pass(threads: int) -> None:
    nobody: Any = None
    with closing(Fetchers(threads, nobody, lambda: NOW)) as fetchers:
        begun = sum(1 for _ in begin(fetchers, most=100))
        assert threads < begun < threads + 8
        assert sum(1 for _ in fetchers.finished(5)) >= 1
        assert not fetchers.is_full


def begin(fetchers: Fetchers, *, most: int) -> Iterator[None]:
    """They fail, as there is no client; that is a result like any other."""
    while not fetchers.is_full and most:
        fetchers.start(Ask("", {1: None}), "x.example")
        most -= 1
        yield
