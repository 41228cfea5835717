"""Threads that fetch and parse. They never use the database."""

import queue
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime

from common.net.client import SafeClient
from feeds.polling.read import Ask, Reading, read

REQUESTS_AHEAD = 2


@dataclass(frozen=True, slots=True)
class FetchedAsk:
    ask: Ask
    host: str
    readings: Mapping[int, Reading]

    @property
    def answer(self) -> Reading:
        """The reading of any of its feeds."""
        return next(iter(self.readings.values()))


class Fetchers:
    """`close` waits for running requests."""

    def __init__(self, threads: int, http: SafeClient, clock: Callable[[], datetime]) -> None:
        self._http, self._clock = http, clock
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="fetch")
        self._done: queue.SimpleQueue[FetchedAsk] = queue.SimpleQueue()
        self.threads, self.running = threads, 0

    @property
    def is_full(self) -> bool:
        # So that no thread waits for the polling pass.
        return self.running >= self.threads + REQUESTS_AHEAD

    def start(self, ask: Ask, host: str) -> None:
        self.running += 1
        self._executor.submit(
            lambda: self._done.put(FetchedAsk(ask, host, read(ask, self._http, self._clock)))
        )

    def finished(self, seconds: float) -> Iterator[FetchedAsk]:
        """Wait at most `seconds` for the first."""
        wait = seconds
        while self.running:
            try:
                done = self._done.get(timeout=wait) if wait > 0 else self._done.get_nowait()
            except queue.Empty:
                return
            self.running, wait = self.running - 1, 0
            yield done

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


@dataclass
class HostQueue:
    """At most `width` at a time, `gap` seconds between two starts.

    `later`: feeds that are not claimed yet.
    """

    name: str
    width: int
    gap: float
    next_start: float
    asks: deque[Ask] = field(default_factory=deque)
    later: deque[int] = field(default_factory=deque)
    running: int = 0
    rests_until: datetime | None = None

    def next_ask(self, now: float) -> Ask | None:
        """`now` is on the monotonic clock."""
        if not self.asks or self.running >= self.width or now < self.next_start:
            return None
        self.running += 1
        self.next_start = now + self.gap
        return self.asks.popleft()
