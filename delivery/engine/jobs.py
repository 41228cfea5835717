"""A claimed delivery and its way through the engine: the job, the message made of it, what became of it.

Plain values, for hundreds are on their way at a time.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from django.db.models import TextField
from django.db.models.functions import Cast

from common.secrets import Sealed
from delivery.channels.base import Outcome
from delivery.letter import Letter, Recipient
from delivery.models import Delivery, Lane

# (Dates only where they are needed: to read three of each row took as long as all the rest. What the
# destination keeps is nearly always empty: it is read as text.)
_OWN = ("pk", "kind", "issue_id", "domain", "priority", "begun_at", "destination_id")
_DESTINATION = ("kind", "core", "label", "disabled_at", "disabled_reason")
_SUBSCRIPTION = ("pk", "status", "display_name", "token", "subscribable_id", "paused_until")
_OWN_ENDS, _DESTINATION_ENDS = len(_OWN), len(_OWN) + len(_DESTINATION) + 2
_TEXTS = {
    "destination_config": Cast("destination__config", TextField()),
    "destination_secrets": Cast("destination__secrets", TextField()),
}
_NO_CONFIG: dict[str, str] = {}
_NO_SECRETS = Sealed("")


class ClaimedDestination(NamedTuple):
    """The destination. `disabled`: why nothing is sent there; empty where it may be."""

    kind: str
    core: str
    label: str
    config: dict[str, str]
    secrets: Sealed
    disabled: str


class ClaimedSubscription(NamedTuple):
    """The subscription behind it."""

    pk: int
    status: str
    display_name: str
    token: str
    subscribable_id: int
    paused_until: datetime | None


class ClaimedDelivery(NamedTuple):
    """What sending needs of a Delivery, under the same names; `lane` as it was claimed from."""

    pk: int
    kind: str
    issue_id: int | None
    domain: str
    priority: int
    begun_at: datetime | None
    destination_id: int
    lane: Lane
    destination: ClaimedDestination
    subscription: ClaimedSubscription | None

    @property
    def lane_id(self) -> int:
        return int(self.lane.pk)


class Job(NamedTuple):
    """A claimed delivery. `begun_before`: since when an earlier attempt's end is unknown."""

    row: ClaimedDelivery
    token: UUID
    begun_before: datetime | None
    claimed_at: datetime

    @property
    def pk(self) -> int:
        return self.row.pk


_FIELDS = (
    *_OWN,
    *(f"destination__{name}" for name in _DESTINATION),
    "destination_config",
    "destination_secrets",
    *(f"subscription__{name}" for name in _SUBSCRIPTION),
)


def read(lane: Lane, pks: Sequence[int]) -> list[ClaimedDelivery]:
    """The deliveries of those keys, in the order of sending. One question."""
    rows = Delivery.objects.filter(pk__any_of=frozenset(pks)).order_by("priority", "due_at", "pk")
    rows = rows.annotate(**_TEXTS)
    return [_row(lane, values) for values in rows.values_list(*_FIELDS)]


def _row(lane: Lane, values: tuple[Any, ...]) -> ClaimedDelivery:
    kind, core, label, disabled_at, why, config, secrets = values[_OWN_ENDS:_DESTINATION_ENDS]
    reader = values[_DESTINATION_ENDS:]
    disabled = (why or "it was disabled") if disabled_at else ""
    subscription = ClaimedSubscription._make(reader) if reader[0] is not None else None
    kept = _NO_CONFIG if config == "{}" else json.loads(config)
    sealed = Sealed(secrets) if secrets else _NO_SECRETS
    to = ClaimedDestination(kind, core, label, kept, sealed, disabled)
    return ClaimedDelivery._make((*values[:_OWN_ENDS], lane, to, subscription))


class OutgoingMessage(NamedTuple):
    """All that sending needs: a letter, its recipient, and what makes a message of them."""

    letter: Letter
    recipient: Recipient
    compose: Callable[[Recipient], Any]


@dataclass(eq=False, slots=True)
class SendTask:
    """A job on its way. `outcome` None: it was not begun, and is given back. `begun`: a session had it."""

    job: Job
    parcel: OutgoingMessage | None = None
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
Done = SimpleQueue[Sequence[SendTask]]


class Sender(Protocol):
    """The connections of one lane.

    The barrier: a connection begins its next message only when `settle` says that the outcome of its last
    one is durable. So a killed worker doubles at most one message for each open connection.
    """

    width: int
    # Set when the account itself cannot send: what is waiting here is given back, not tried one by one.
    stopped: bool
    # How many connections the server took, and what it said to one more.
    narrowed: SimpleQueue[tuple[int, str]]

    @property
    def opened(self) -> int:
        """How many connections there are: more than `width` for a while after that was made smaller."""
        ...

    def put(self, tasks: Sequence[SendTask]) -> None:
        """Hands tasks over; the end of each arrives in the engine's queue."""
        ...

    def settle(self, tasks: Sequence[SendTask]) -> None:
        """The outcomes of these tasks are durable."""
        ...

    def leave(self) -> None:
        """Lets every connection close, once nothing is left to do."""
        ...

    def join(self, seconds: float) -> None:
        """Waits for them to be closed."""
        ...
