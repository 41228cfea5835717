"""The half of a pass that claims: it takes rows lane by lane, makes them parcels and hands them over.

It runs beside the half that records, in a thread with a database connection of its own, so that neither
waits for the other.
"""

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta

from common.db.outage import DB_ERRORS
from delivery.channels.base import Permanent, Temporary
from delivery.engine.claim import MOST_AT_ONCE, claim, has_much, has_urgent, lanes_with_due
from delivery.engine.jobs import Done, SendTask
from delivery.engine.lane_pool import MOST_CONNECTIONS, LanePool, OpenLane
from delivery.engine.letter_cache import LetterCache
from delivery.lanes.shares import leave_shares, narrow_lane, take_share
from delivery.letters.notices import take_notices
from delivery.letters.samples import NothingToShow
from delivery.models import Delivery, Lane
from delivery.rules.lanes import claimable

log = logging.getLogger(__name__)

RENEW_SHARE = 1.5
WAIT_FOR_SHARE = timedelta(seconds=1)
# Messages are handed over in groups: the first ones go out while the rest is still being made.
GROUP = 50


class Claimer:
    """Not thread-safe: `look` is called by one thread at a time."""

    def __init__(
        self,
        *,
        pool: LanePool,
        in_flight: set[SendTask],
        done: Done,
        is_finishing: Callable[[], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self._pool, self._in_flight, self._done = pool, in_flight, done
        self._is_finishing, self._clock = is_finishing, clock
        self._letters = LetterCache()
        self._holder = uuid.uuid4()
        self._shares: dict[int, tuple[int, float]] = {}

    @property
    def runs_low(self) -> bool:
        """Whether a lane that had more is through with much of what it was given."""
        return any(lane.more and not _is_full(lane) for _, lane in self._pool.lanes())

    def look(self) -> datetime | None:
        """Tops up every lane that runs low. Returns when to ask again, if a lane said so."""
        now = self._clock()
        take_notices(now=now)
        self.narrow()
        self._keep_shares(now)
        waits = [wait for lane in lanes_with_due(now) if (wait := self._claim_from(lane, now))]
        return min(waits, default=None)

    def close(self) -> None:
        """Gives up the shares of connections."""
        if self._shares:
            leave_shares(self._holder)

    def narrow(self) -> None:
        """Remembers which servers took fewer connections than they were asked for."""
        for lane_id, (width, said) in self._pool.narrowed().items():
            narrow_lane(lane_id, self._holder, connections=width, said=said, now=self._clock())
            self._shares[lane_id] = (width, time.monotonic())

    def _claim_from(self, lane: Lane, now: datetime) -> datetime | None:
        try:
            width = self._share(lane, now)
            open_lane = self._pool.open(lane, width, is_much=lambda: has_much(lane, now))
            if not width:  # the others give some up when they see that we wait
                return now + WAIT_FOR_SHARE
            return self._top_up(open_lane, lane, now) if open_lane else None
        except DB_ERRORS:
            raise
        except Exception:  # a lane that cannot be claimed from stops no other
            log.exception("claiming failed", extra={"lane": lane.pk})
            return None

    def _share(self, lane: Lane, now: datetime) -> int:
        """How many connections of the lane are ours. A serial lane goes by its order alone."""
        if lane.serial:
            return 1
        mine, asked_at = self._shares.get(lane.pk, (0, -RENEW_SHARE))
        if not mine or time.monotonic() - asked_at >= RENEW_SHARE:
            mine = self._ask_for_share(lane.pk, now)
        return min(mine, MOST_CONNECTIONS)

    def _ask_for_share(self, lane_id: int, now: datetime) -> int:
        before, _ = self._shares.get(lane_id, (0, 0.0))
        still_open = max(before, self._pool.opened(lane_id))
        mine = take_share(lane_id, self._holder, now, still_open=still_open)
        self._shares[lane_id] = (mine, time.monotonic())
        return mine

    def _keep_shares(self, now: datetime) -> None:
        """Also of lanes in which nothing is due any more: their connections are open all the same."""
        for lane_id, (mine, asked_at) in list(self._shares.items()):
            if mine and time.monotonic() - asked_at >= RENEW_SHARE:
                self._ask_for_share(lane_id, now)

    def _top_up(self, open_lane: OpenLane, lane: Lane, now: datetime) -> datetime | None:
        carrier, full = open_lane.carrier, _is_full(open_lane)
        # A lane that stopped is asked again when all that it had is settled, and its rest is known.
        if (carrier.stopped and open_lane.outstanding) or (full and not has_urgent(lane, now)):
            return None
        carrier.stopped = False
        in_flight = self._urgent_in_flight(lane) if full else open_lane.outstanding
        claimed = claim(
            lane_id=lane.pk,
            now=now,
            in_flight=in_flight,
            urgent=full,
            connections=carrier.width,
            expected=open_lane.rate,
        )
        tasks = [SendTask(job) for job in claimed.jobs]
        open_lane.more = bool(tasks)
        open_lane.claimed += len(tasks)
        self._in_flight.update(tasks)
        self._hand_over(open_lane, tasks)
        return claimed.again_at

    def _urgent_in_flight(self, lane: Lane) -> int:
        rows = (task.job.row for task in list(self._in_flight))
        return sum(row.lane_id == lane.pk and row.priority < Delivery.Priority.ISSUE for row in rows)

    def _hand_over(self, open_lane: OpenLane, tasks: Sequence[SendTask]) -> None:
        left = list(tasks)
        try:
            for group in _groups(tasks):
                ready = [task for task in group if not self._is_finishing() and self._is_made(task)]
                # (Before the carrier has them: from then on it says itself what became of each.)
                left = left[len(group) :]
                self._done.put([task for task in group if task not in ready])
                for task in ready:
                    task.is_carried = True
                if ready:
                    open_lane.carrier.put(ready)
        except BaseException:
            self._done.put(left)
            raise

    def _is_made(self, task: SendTask) -> bool:
        """Makes the parcel; otherwise sets what becomes of the task."""
        try:
            task.parcel = self._letters.parcel(task.job.row, now=self._clock())
        except DB_ERRORS:
            raise
        except NothingToShow as error:
            task.outcome = Permanent(str(error))
        except Exception as error:  # a poisoned letter or recipient stops nobody else
            log.exception("a letter cannot be made", extra={"delivery": task.job.pk})
            task.outcome = Temporary(f"The letter cannot be made: {error}")
        return task.parcel is not None


def _is_full(lane: OpenLane) -> bool:
    """Whether there is enough to do for longer than a claim takes."""
    most = min(claimable(lane.carrier.width, expected=lane.rate) * 2 // 3, MOST_AT_ONCE)
    return lane.outstanding > max(2 * lane.carrier.width, most)


def _groups(tasks: Sequence[SendTask]) -> Iterator[Sequence[SendTask]]:
    for start in range(0, len(tasks), GROUP):
        yield tasks[start : start + GROUP]
