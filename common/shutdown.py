import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

stopping = threading.Event()
# A stopping web process waits for these.
finished_last: list[threading.Thread] = []

# Python's defaults. Celery installs others, and has a separate signal.
_UNHANDLED: dict[int, Any] = {
    int(signal.SIGINT): signal.default_int_handler,
    int(signal.SIGTERM): signal.SIG_DFL,
}


def stop(**_: object) -> None:
    stopping.set()


@contextmanager
def graceful_shutdown() -> Iterator[None]:
    """Delay Ctrl-C and TERM until the end of the block; a second one acts at once.

    Does nothing outside the main thread, and if the process has its own handlers.
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
