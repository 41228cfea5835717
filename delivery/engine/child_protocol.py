"""Tasks of the child process, and its messages to and from the worker: pickled named tuples.

Pickle is safe, as nobody else can write to the socket pair. No message needs Django. A lane that is opened
again gets a new number.
"""

import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from channels.base import AsyncSession, Outcome
from channels.email.mail_message import MailMessage
from common.child_process import framed
from common.shutdown import stopping

NOT_YET = datetime.max.replace(tzinfo=UTC)
# A message may begin within so many seconds of the last lease renewal.
FRESH = 20.0

# Task number in its lane (a delivery may be claimed again while its first claim is under way), delivery key,
# priority, lease token in hex where the child may record, MailMessage's sender, recipient, pieces, has_dots
# and is_dated, issue. A plain tuple: pickling a named one takes 2.6 µs instead of 0.8, per letter.
MailRow = tuple[int, int, int, str, str, str, Sequence[bytes], bool, bool, int | None]
# Task number, outcome, whether a session had it, when it ended. A text is the remote id of a Sent: pickling
# Sent takes ten times as long.
End = tuple[int, Outcome | str | None, bool, datetime]


@dataclass(slots=True)
class Permit:
    """Says whether a message may begin. The worker sends its permit to the child.

    `renewed_at` is on CLOCK_MONOTONIC, which all processes share. `lost`: deliveries whose lease was lost.
    """

    renewed_at: float
    lost: frozenset[int] = frozenset()
    is_finishing: bool = False

    def allows(self, pk: int) -> bool:
        return self.holds(pk) and not (self.is_finishing or stopping.is_set())

    def holds(self, pk: int) -> bool:
        """Return whether the lease is surely ours, which is enough for an announced message."""
        return time.monotonic() - self.renewed_at < FRESH and pk not in self.lost


@dataclass(eq=False, slots=True)
class ChildTask:
    """`number` identifies the task in its lane on both sides.

    `token` is the lease token in hex, empty if the acceptance must not be recorded here.
    """

    lane: int
    number: int
    pk: int
    priority: int
    token: str
    mail: MailMessage
    outcome: Outcome | None = None
    at: datetime = NOT_YET
    begun: bool = False
    issue: int | None = None
    recalled: bool = False
    # Its connection waits for this call before its next message.
    released: Callable[[], object] | None = None


class BeginPass(NamedTuple):
    """`clock_since` is from common.clock; `database` is where to record acceptances."""

    clock_since: float | None
    database: Mapping[str, Any] | None


class OpenLane(NamedTuple):
    lane: int
    open_session: Callable[[], AsyncSession]
    width: int


class ResizeLane(NamedTuple):
    lane: int
    width: int


class ResumeLane(NamedTuple):
    """Try a stopped account again."""

    lane: int


class Put(NamedTuple):
    lane: int
    mails: Sequence[MailRow]


class Settled(NamedTuple):
    lane: int
    numbers: Sequence[int]


class Recall(NamedTuple):
    issues: frozenset[int]


class CutOff(NamedTuple):
    lane: int


class CloseLane(NamedTuple):
    """Close a lane's connections, by force after this many seconds."""

    lane: int
    seconds: float


ToChild = (
    BeginPass | Permit | OpenLane | ResizeLane | ResumeLane | Put | Settled | Recall | CutOff | CloseLane
)


class Ended(NamedTuple):
    """Tasks that ended, for the worker to record. They wait for Settled.

    `opened` is the number of connections; `stopped`: the account cannot send.
    """

    lane: int
    ends: Sequence[End]
    opened: int
    stopped: bool


class Recorded(NamedTuple):
    """Tasks whose acceptance is durable. Their connections continue.

    `recalled`: no more messages of these issues may begin.
    """

    lane: int
    numbers: Sequence[int]
    opened: int
    stopped: bool
    recalled: frozenset[int] = frozenset()


class Narrowed(NamedTuple):
    """The server accepted this many connections and refused one more."""

    lane: int
    width: int
    said: str


class Closed(NamedTuple):
    lane: int


class Died(NamedTuple):
    """Made by the worker's side for each lane of a dead child. Never sent."""

    lane: int


FromChild = Ended | Recorded | Narrowed | Closed


def frame(message: object) -> bytes:
    return framed(pickle.dumps(message, protocol=5))


def unpacked(messages: Iterable[bytes]) -> Iterator[Any]:
    return map(pickle.loads, messages)
