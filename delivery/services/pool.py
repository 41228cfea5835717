"""The connections of all lanes that a pass sends through, within one bound."""

from collections.abc import Callable
from datetime import datetime
from queue import SimpleQueue

from delivery.channels import channel
from delivery.channels.base import LaneFacts
from delivery.models import Lane
from delivery.services.connections import Connections, Task

# Over all lanes; a lane that is wider is cut to this.
MOST_CONNECTIONS = 200
LONGEST_GOODBYE = 10.0


class Pool:
    """Opens connections as lanes ask for them, and closes idle ones when there are too many."""

    def __init__(
        self, *, done: "SimpleQueue[Task]", may_begin: Callable[[Task], bool], clock: Callable[[], datetime]
    ) -> None:
        self._done, self._may_begin, self._clock = done, may_begin, clock
        self._lanes: dict[int, Connections] = {}
        self._leaving: list[Connections] = []

    def __getitem__(self, lane_id: int) -> Connections:
        return self._lanes[lane_id]

    @property
    def runs_low(self) -> bool:
        return any(lane.runs_low for lane in self._lanes.values())

    def connections(self, lane: Lane) -> Connections | None:
        """The lane's; None while too many of other lanes are open."""
        if lane.pk not in self._lanes:
            width = min(1 if lane.serial else lane.concurrency, MOST_CONNECTIONS)
            if sum(other.width for other in self._lanes.values()) + width > MOST_CONNECTIONS:
                self._close_idle()
                return None
            self._lanes[lane.pk] = self._open(lane, width)
        return self._lanes[lane.pk]

    def _open(self, lane: Lane, width: int) -> Connections:
        return Connections(
            LaneFacts(lane.kind, lane.account),
            channel(lane.kind),
            width=width,
            done=self._done,
            may_begin=self._may_begin,
            clock=self._clock,
        )

    def _close_idle(self) -> None:
        for pk in [pk for pk, lane in self._lanes.items() if not lane.outstanding]:
            self._lanes[pk].leave()
            self._leaving.append(self._lanes.pop(pk))

    def close(self) -> None:
        """Closes every session; nothing may be outstanding. Waits a little for those who say goodbye."""
        self._close_idle()
        for lane in self._leaving:
            lane.join(LONGEST_GOODBYE)
