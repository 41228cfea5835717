"""The thread in which everything happens that does not block: its loop."""

import asyncio
import gc
import sys
import threading
from functools import lru_cache

import uvloop

# Seconds. With Python's own 5 ms, what is recorded would wait as long whenever claiming computes.
SWITCH_INTERVAL = 0.0005


@lru_cache(maxsize=1)
def prepare() -> None:
    """Once in a process that sends much."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    # What is there by now stays: to look through all of it again and again stops everything for 70 ms.
    gc.collect()
    gc.freeze()
    # What is made for a message is in no cycle: to look for some every 700 objects finds nothing.
    gc.set_threshold(20_000, 20, 20)


class LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        prepare()
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="send loop", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread; nothing may be going on in it."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
