"""kombu's in-memory transport, waiting instead of polling."""

import threading
from time import monotonic
from typing import Any

from kombu.transport import memory
from kombu.transport.virtual import Empty

# Seconds between checks for shutdown.
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
        ends_at = monotonic() + min(timeout or LONGEST_WAIT, LONGEST_WAIT)
        while True:
            seen = _number
            try:
                self.cycle.get(self._deliver, timeout=timeout)
            except Empty:
                with _arrived:
                    # A message may have arrived since the check of the queues.
                    if _number == seen and not _arrived.wait(ends_at - monotonic()):
                        raise TimeoutError from None
            else:
                return


def _tell() -> None:
    global _number
    with _arrived:
        _number += 1
        _arrived.notify_all()
