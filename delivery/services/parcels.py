"""What the engine hands to connections, and what they bring back."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol

from delivery.channels.base import Letter, Outcome, Recipient
from delivery.services.claimed import Job


class Parcel(NamedTuple):
    """All that sending needs: a letter, its recipient, and what makes a message of them."""

    letter: Letter
    recipient: Recipient
    compose: Callable[[Recipient], Any]


@dataclass(eq=False, slots=True)
class Task:
    """A job on its way. `outcome` None: it was not begun, and is given back. `begun`: a session had it."""

    job: Job
    parcel: Parcel | None = None
    outcome: Outcome | None = None
    at: datetime | None = None
    begun: bool = False
    # Whether a carrier has it, and must be told when its outcome is durable.
    is_carried: bool = False
    # Whether its outcome is durable already.
    is_recorded: bool = False
    settled: threading.Event | None = None
    released: "asyncio.Future[None] | None" = field(default=None, repr=False)

    @property
    def pk(self) -> int:
        return self.job.row.pk

    @property
    def priority(self) -> int:
        return self.job.row.priority

    def message(self) -> Any:
        """Raises whatever composing raises."""
        assert self.parcel is not None  # noqa: S101 - for the type checker
        return self.parcel.compose(self.parcel.recipient)


# Where the ends of tasks arrive, several at a time; none only wake who waits there.
Done = SimpleQueue[Sequence[Task]]


class Carrier(Protocol):
    """The connections of one lane.

    The barrier: a connection begins its next message only when `settle` says that the outcome of its last
    one is durable. So a killed worker doubles at most one message for each open connection.
    """

    width: int
    # Set when the account itself cannot send: what is waiting here is given back, not tried one by one.
    stopped: bool

    @property
    def opened(self) -> int:
        """How many connections there are: more than `width` for a while after that was made smaller."""
        ...

    def put(self, tasks: Sequence[Task]) -> None:
        """Hands tasks over; the end of each arrives in the engine's queue."""
        ...

    def settle(self, tasks: Sequence[Task]) -> None:
        """The outcomes of these tasks are durable."""
        ...

    def leave(self) -> None:
        """Lets every connection close, once nothing is left to do."""
        ...

    def join(self, seconds: float) -> None:
        """Waits for them to be closed."""
        ...
