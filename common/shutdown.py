"""Stops a process in good order: it finishes what it has begun, and gives back the rest."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# Set when this process was told to end.
stopping = threading.Event()

# The handlers that Python sets by itself. Celery sets others, and tells us by its own signal.
_UNHANDLED: dict[int, Any] = {
    int(signal.SIGINT): signal.default_int_handler,
    int(signal.SIGTERM): signal.SIG_DFL,
}


def stop(**_: object) -> None:
    """From now on this process begins no message. Receives Celery's worker_shutting_down."""
    stopping.set()


@contextmanager
def graceful_shutdown() -> Iterator[None]:
    """Ctrl-C and TERM let the block come to its end, and take effect after it. A second one acts at once.

    For commands: does nothing outside the main thread, nor where the process handles them itself.
    """
    received: list[int] = []

    def heed(number: int, frame: FrameType | None) -> None:
        received.append(number)
        stopping.set()
        signal.signal(number, before[number])

    is_main = threading.current_thread() is threading.main_thread()
    before = {
        number: usual for number, usual in _UNHANDLED.items() if is_main and signal.getsignal(number) == usual
    }
    for number in before:
        signal.signal(number, heed)
    try:
        yield
    finally:
        for number, usual in before.items():
            signal.signal(number, usual)
        if received:
            stopping.clear()
    if received:
        signal.raise_signal(received[0])
