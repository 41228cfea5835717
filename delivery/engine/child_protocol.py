"""What the worker and its child process say to each other: pickled named tuples, each after its length.

Pickle, because nobody else can write into the pair of sockets between them. No message needs Django to be
read. `lane` is the number of an opened lane: one that is closed and opened again has another.
"""

import pickle
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from common.shutdown import stopping
from delivery.channels.base import AsyncSession, Outcome

# A message is begun only when the leases were renewed this many seconds ago at most.
FRESH = 20.0
_LENGTH = struct.Struct("!I")

# The task's number in its lane: a delivery whose lease was lost may be claimed, and come, a second time while
# the first is on its way. Then the delivery's key and priority; its lease's token in hexadecimal, where an
# acceptance may be recorded over there; MailMessage's sender, recipient, pieces, has_dots; and the numbers of
# the keys that sign it; its issue.
# A plain tuple: pickling a named one takes 2.6 µs where this takes 0.8, and there is one for each letter.
MailRow = tuple[int, int, int, str, str, str, Sequence[bytes], bool, Sequence[int], int | None]
# The task's number, what became of it, whether a session had it, and when it ended. Nearly always it was
# accepted: the server's own name for it stands for Sent, as pickling that takes ten times as long.
End = tuple[int, Outcome | str | None, bool, datetime]


@dataclass(slots=True)
class Permit:
    """Whether a message may be begun: each process has one, and the worker's is sent to its child.

    `renewed_at` is on the clock that all processes of a machine share (CLOCK_MONOTONIC). `lost` are the
    deliveries whose lease is not ours any more.
    """

    renewed_at: float
    lost: frozenset[int] = frozenset()
    is_finishing: bool = False

    def allows(self, pk: int) -> bool:
        return self.holds(pk) and not (self.is_finishing or stopping.is_set())

    def holds(self, pk: int) -> bool:
        """Whether its lease is surely ours: enough for a message that the server has been told of."""
        return time.monotonic() - self.renewed_at < FRESH and pk not in self.lost


class BeginPass(NamedTuple):
    """A new pass begins. `clock_since`: see common.clock; `database`: where acceptances are recorded."""

    clock_since: float | None
    database: Mapping[str, Any] | None


class OpenLane(NamedTuple):
    """Send over so many connections."""

    lane: int
    open_session: Callable[[], AsyncSession]
    width: int


class ResizeLane(NamedTuple):
    """Send over so many connections from now on."""

    lane: int
    width: int


class ResumeLane(NamedTuple):
    """The account may be able to send again."""

    lane: int


class Put(NamedTuple):
    """Send these. `keys` are new ones that sign: number → domain, selector and private key (PEM)."""

    lane: int
    mails: Sequence[MailRow]
    keys: Mapping[int, tuple[str, str, str]]


class Settled(NamedTuple):
    """The outcomes of these are durable: their connections may go on."""

    lane: int
    numbers: Sequence[int]


class Recall(NamedTuple):
    """Begin no more messages of these issues: they were paused or cancelled."""

    issues: frozenset[int]


class CutOff(NamedTuple):
    """Close the connections of a lane at once."""

    lane: int


class CloseLane(NamedTuple):
    """Close its connections; cut off those that take longer than so many seconds."""

    lane: int
    seconds: float


ToChild = (
    BeginPass | Permit | OpenLane | ResizeLane | ResumeLane | Put | Settled | Recall | CutOff | CloseLane
)


class Ended(NamedTuple):
    """These ended, and are to be recorded by the worker; they wait for Settled.

    `opened` connections there are now. `stopped`: the account itself cannot send.
    """

    lane: int
    ends: Sequence[End]
    opened: int
    stopped: bool


class Recorded(NamedTuple):
    """These were accepted, which is durable; their connections went on.

    `recalled`: issues of which no more may be begun.
    """

    lane: int
    numbers: Sequence[int]
    opened: int
    stopped: bool
    recalled: frozenset[int] = frozenset()


class Narrowed(NamedTuple):
    """The server took so many connections, and said this to one more."""

    lane: int
    width: int
    said: str


class Closed(NamedTuple):
    """All the lane's connections are closed."""

    lane: int


class Died(NamedTuple):
    """Never sent: what the worker's end says for a child that is gone, to each of its lanes."""

    lane: int


FromChild = Ended | Recorded | Narrowed | Closed


def frame(message: object) -> bytes:
    """A message as octets."""
    said = pickle.dumps(message, protocol=5)
    return _LENGTH.pack(len(said)) + said


class FrameReader:
    """Puts the pieces that arrive together again."""

    def __init__(self) -> None:
        self._unread = bytearray()

    def read(self, octets: bytes) -> Iterator[Any]:
        """The messages that are whole by now."""
        self._unread += octets
        at, view = 0, memoryview(self._unread)
        try:
            while len(view) >= at + _LENGTH.size:
                start = at + _LENGTH.size
                end = start + _LENGTH.unpack_from(view, at)[0]
                if len(view) < end:
                    break
                at = end
                yield pickle.loads(view[start:end])  # noqa: S301 - from our own process
        finally:
            view.release()
            del self._unread[:at]
