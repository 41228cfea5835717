import asyncio
import gc
import sys
import threading
from functools import lru_cache

import uvloop

# Seconds. With Python's 5 ms, recording would wait that long whenever claiming computes.
SWITCH_INTERVAL = 0.0005


@lru_cache(maxsize=1)
def prepare() -> None:
    """Tune a process that sends much. Call it once."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    # Freeze existing objects: a full collection stops everything for 70 ms.
    gc.collect()
    gc.freeze()
    # Messages are in no cycles, so collecting every 700 objects finds nothing.
    gc.set_threshold(20_000, 20, 20)


class LoopThread:
    def __init__(self) -> None:
        prepare()
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="send loop", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Nothing may be running in it."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()
