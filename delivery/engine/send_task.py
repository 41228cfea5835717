"""A claimed delivery and its way through the engine: what is sent of it, and what became of it.

Plain values, for hundreds are on their way at a time.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from django.db.models import TextField
from django.db.models.functions import Cast

from common.secrets import Sealed
from delivery.bridges.post_changes import SentPost
from delivery.channels.base import Outcome
from delivery.engine.child_task import NOT_YET
from delivery.letter import Letter, Recipient
from delivery.models import Delivery, Lane
from subscriptions.hooks import Recipient as HookRecipient

# Seconds for which connections are waited for that say goodbye.
LONGEST_GOODBYE = 10.0
# Dates only where they are needed: to read three of each row took as long as all the rest. What the
# destination keeps is nearly always empty: it is read as text.
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
    """What sending needs of a Delivery, under the same names; `lane` as it was claimed from.

    `begun_before`: since when an earlier attempt's end is unknown. `token` is its lease's.
    """

    pk: int
    kind: str
    issue_id: int | None
    domain: str
    priority: int
    begun_before: datetime | None
    destination_id: int
    lane: Lane
    destination: ClaimedDestination
    subscription: ClaimedSubscription | None
    token: UUID
    claimed_at: datetime


_FIELDS = (
    *_OWN,
    *(f"destination__{name}" for name in _DESTINATION),
    "destination_config",
    "destination_secrets",
    *(f"subscription__{name}" for name in _SUBSCRIPTION),
)


def read_claimed(lane: Lane, pks: Sequence[int], *, token: UUID, now: datetime) -> list[ClaimedDelivery]:
    """The deliveries of those keys, in the order of sending. One question."""
    rows = Delivery.objects.filter(pk__any_of=frozenset(pks)).order_by("priority", "due_at", "pk")
    claimed = []
    for values in rows.annotate(**_TEXTS).values_list(*_FIELDS):
        kind, core, label, disabled_at, why, config, secrets = values[_OWN_ENDS:_DESTINATION_ENDS]
        destination = ClaimedDestination(
            kind,
            core,
            label,
            _NO_CONFIG if config == "{}" else json.loads(config),
            Sealed(secrets) if secrets else _NO_SECRETS,
            (why or "it was disabled") if disabled_at else "",
        )
        reader = values[_DESTINATION_ENDS:]
        subscription = ClaimedSubscription._make(reader) if reader[0] is not None else None
        own = values[:_OWN_ENDS]
        claimed.append(ClaimedDelivery._make((*own, lane, destination, subscription, token, now)))
    return claimed


@dataclass(frozen=True, slots=True)
class PreparedLetter:
    """A letter, what asks the newsletter's own code for values of each reader (if it has such code), and what
    makes messages of it (once it has been signed)."""

    letter: Letter
    ask: Callable[[HookRecipient], Mapping[str, str]] | None
    compose: Callable[[Recipient], Any] | None = None


@dataclass(eq=False, slots=True)
class SendTask:
    """A claimed delivery on its way. `prepared` and `recipient` are set when its letter is made.

    `outcome` None: it was not begun, and is given back. `at`: when it had its outcome. `begun`: a session
    had it.
    """

    delivery: ClaimedDelivery
    prepared: PreparedLetter | None = None
    recipient: Recipient | None = None
    # The post that it changes, where that is what it does.
    changes: SentPost | None = None
    outcome: Outcome | None = None
    at: datetime = NOT_YET
    begun: bool = False
    # By which a sender and the child process know it; 0 until they do.
    number: int = 0
    # Whether a sender has it, and must be told when its outcome is durable.
    is_carried: bool = False
    # Whether its issue was paused or cancelled meanwhile.
    recalled: bool = False
    # Whether its outcome is durable already.
    is_recorded: bool = False
    # What an earlier attempt has done of it already, and what its session wants kept for the lane.
    progress: Mapping[str, Any] = field(default_factory=dict)
    new_state: Mapping[str, str] | None = None
    # How many requests for it the service refused.
    refusals: int = 0
    # What the connection that had it waits for: a future or an event.
    released: Any = None

    @property
    def pk(self) -> int:
        return self.delivery.pk

    @property
    def priority(self) -> int:
        return self.delivery.priority

    @property
    def issue(self) -> int | None:
        return self.delivery.issue_id

    def message(self) -> Any:
        """Raises whatever composing raises."""
        assert self.prepared and self.prepared.compose and self.recipient  # noqa: S101, PT018 - for mypy
        return self.prepared.compose(self.recipient)


# Where the ends of tasks arrive, several at a time. An empty group only wakes the thread that waits there.
Done = SimpleQueue[Sequence[SendTask]]


class LaneSender(Protocol):
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

    def resize(self, width: int) -> None:
        """So many connections from now on; each finishes what it was given before."""
        ...

    def resume(self) -> None:
        """It may be able to send again."""
        ...

    def put(self, tasks: Sequence[SendTask]) -> None:
        """Hands tasks over; the end of each arrives in the pass's queue."""
        ...

    def sweep(self) -> None:
        """Hand back what may not be begun any more; each of them ends at once."""
        ...

    def cut_off(self) -> None:
        """Close the connections at once. What a server may have by then has an unknown end."""
        ...

    def settle(self, tasks: Sequence[SendTask]) -> None:
        """The outcomes of these tasks are durable."""
        ...

    def leave(self) -> None:
        """Lets every connection close, once nothing is left to do."""
        ...

    def join(self) -> None:
        """Waits for them to be closed, up to LONGEST_GOODBYE."""
        ...
