"""The embedded broker: kombu's in-memory transport, which waits for a message instead of looking for one."""

import threading
from time import monotonic
from typing import Any

from kombu.transport import memory
from kombu.transport.virtual import Empty

# After so many seconds a waiting thread wakes in any case, to see whether the worker stops.
LONGEST_WAIT = 1.0

_arrived = threading.Condition()
_number = 0


class Channel(memory.Channel):
    def _put(self, queue: str, message: Any, **kwargs: Any) -> None:
        super()._put(queue, message, **kwargs)
        _tell()

    def _put_fanout(self, exchange: str, message: Any, routing_key: str | None = None, **kwargs: Any) -> None:
        super()._put_fanout(exchange, message, routing_key, **kwargs)
        _tell()


class Transport(memory.Transport):
    Channel = Channel

    cycle: Any

    def drain_events(self, connection: Any, timeout: float | None = None, **kwargs: Any) -> None:
        """Delivers a message, or raises TimeoutError."""
        ends_at = monotonic() + min(timeout or LONGEST_WAIT, LONGEST_WAIT)
        while True:
            seen = _number
            try:
                self.cycle.get(self._deliver, timeout=timeout)
            except Empty:
                with _arrived:
                    # A message may have come since the look at the queues: then it looks once more.
                    if _number == seen and not _arrived.wait(ends_at - monotonic()):
                        raise TimeoutError from None
            else:
                return


def _tell() -> None:
    global _number
    with _arrived:
        _number += 1
        _arrived.notify_all()
