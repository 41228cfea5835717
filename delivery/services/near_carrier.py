"""Pipelines in a thread of this process: for what is few."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from delivery.channels.base import AsyncSession
from delivery.services.parcels import Done, Task
from delivery.services.pipelines import Pipelines


class NearCarrier:
    """A Carrier."""

    def __init__(
        self,
        open_session: Callable[[], AsyncSession],
        loop: asyncio.AbstractEventLoop,
        width: int,
        done: Done,
        may_begin: Callable[[Task], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self._loop = loop
        self._pipelines = Pipelines[Task](open_session, width, done.put, may_begin, clock)

    @property
    def width(self) -> int:
        return self._pipelines.width

    @width.setter
    def width(self, width: int) -> None:
        self._pipelines.width = width

    @property
    def stopped(self) -> bool:
        return self._pipelines.stopped

    @stopped.setter
    def stopped(self, stopped: bool) -> None:
        self._pipelines.stopped = stopped

    @property
    def opened(self) -> int:
        return self._pipelines.opened

    def put(self, tasks: Sequence[Task]) -> None:
        self._loop.call_soon_threadsafe(self._pipelines.take, tasks)

    def settle(self, tasks: Sequence[Task]) -> None:
        self._loop.call_soon_threadsafe(self._pipelines.release, tasks)

    def leave(self) -> None:
        self._loop.call_soon_threadsafe(self._pipelines.leave)

    def join(self, seconds: float) -> None:
        asyncio.run_coroutine_threadsafe(self._pipelines.all_closed(seconds), self._loop).result()
