"""The connections of all lanes that a pass sends through, within one bound."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from delivery.channels import channel
from delivery.channels.base import LaneFacts
from delivery.models import Lane
from delivery.services.accounts import url_of
from delivery.services.connections import Connections
from delivery.services.loop import LoopThread
from delivery.services.parcels import Carrier, Done, Task
from delivery.services.pipelines import Pipelines

# Over all lanes; a lane that is wider is cut to this.
MOST_CONNECTIONS = 200
LONGEST_GOODBYE = 10.0


@dataclass(eq=False)
class OpenLane:
    """A lane's carrier, and how much it has to do. One thread counts what is claimed, another what ended."""

    carrier: Carrier
    claimed: int = 0
    ended: int = 0
    # Whether the last claim brought anything, so that the next one may.
    more: bool = False

    @property
    def outstanding(self) -> int:
        """Claimed and not settled yet."""
        return self.claimed - self.ended


class Pool:
    """Opens carriers as lanes ask for them, and closes idle ones when there are too many."""

    def __init__(
        self,
        *,
        done: Done,
        may_begin: Callable[[Task], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self._done, self._may_begin, self._clock = done, may_begin, clock
        self._lanes: dict[int, OpenLane] = {}
        self._leaving: list[OpenLane] = []
        self._loop: LoopThread | None = None

    def __getitem__(self, lane_id: int) -> OpenLane:
        return self._lanes[lane_id]

    def opened(self, lane_id: int) -> int:
        """How many of the lane's connections are open."""
        known = self._lanes.get(lane_id)
        return known.carrier.opened if known else 0

    def lanes(self) -> list[tuple[int, OpenLane]]:
        return list(self._lanes.items())

    def open(self, lane: Lane, width: int) -> OpenLane | None:
        """The lane's, with so many connections; None without any, and while too many others are open."""
        known = self._lanes.get(lane.pk)
        if known is not None:
            # (One goes on with what it was given before.)
            known.carrier.width = max(width, 1)
            known.carrier.put(())
            return known if width else None
        if not width:
            return None
        if sum(other.carrier.width for other in self._lanes.values()) + width > MOST_CONNECTIONS:
            self._close_idle()
            return None
        made = self._lanes[lane.pk] = OpenLane(self._carrier(lane, width))
        return made

    def _carrier(self, lane: Lane, width: int) -> Carrier:
        ours = channel(lane.kind)
        facts = LaneFacts(lane.kind, lane.account, url_of(lane), lane.messages_per_connection)
        open_session = ours.pipelines(facts)
        shared = (self._done, self._may_begin, self._clock)
        if open_session is None:
            return Connections(facts, ours, width, *shared)
        self._loop = self._loop or LoopThread()
        return Pipelines(open_session, self._loop.loop, width, *shared)

    def _close_idle(self) -> None:
        for pk, lane in self.lanes():
            if not lane.outstanding:
                lane.carrier.leave()
                self._leaving.append(self._lanes.pop(pk))

    def close(self) -> None:
        """Closes every session; nothing may be outstanding. Waits a little for those who say goodbye."""
        self._close_idle()
        for lane in self._leaving:
            lane.carrier.join(LONGEST_GOODBYE)
        if self._loop is not None:
            self._loop.close()
