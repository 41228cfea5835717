"""Two connections and a barrier: the second act starts before the first has committed."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from django.db import connections, transaction

BLOCKED_FOR = 0.4
AT_MOST = 20


def beside(first: Callable[[], Any], second: Callable[[], Any], *, blocks: bool = True) -> tuple[Any, Any]:
    """Run `first` in a transaction that stays open while `second` runs on another connection.

    With `blocks`, `second` must be waiting for the first's locks, not have passed them.
    """
    acted, go = threading.Event(), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(_hold, first, acted, go)
        try:
            assert acted.wait(AT_MOST), one.exception(timeout=1)
            two: Future[Any] = pool.submit(_closing, second)
            if blocks:
                assert _still_waiting(two), "the second act did not wait for the first one's locks"
            else:
                two.result(AT_MOST)
        finally:
            go.set()
        return one.result(AT_MOST), two.result(AT_MOST)


def _hold(act: Callable[[], Any], acted: threading.Event, go: threading.Event) -> Any:
    try:
        with transaction.atomic():
            result = act()
            acted.set()
            assert go.wait(AT_MOST)
        return result
    finally:
        acted.set()
        connections.close_all()


def _closing(act: Callable[[], Any]) -> Any:
    try:
        return act()
    finally:
        connections.close_all()


def _still_waiting(future: "Future[Any]") -> bool:
    try:
        future.result(BLOCKED_FOR)
    except TimeoutError:
        return True
    return False
