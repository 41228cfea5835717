"""A claimed delivery on its way through the engine.

Plain values, as hundreds are under way.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from django.db import connection
from django.db.models import TextField
from django.db.models.functions import Cast

from channels.base import Outcome
from channels.letter import Letter, Recipient
from common.secrets import Sealed
from delivery.bridges.corrections import SentPost
from delivery.engine.child_protocol import NOT_YET
from delivery.models import Delivery, Lane
from subscriptions.hooks import Recipient as HookRecipient

MANY_ROWS = 100
# Seconds to wait for closing connections.
LONGEST_GOODBYE = 10.0
# Dates only where needed: reading three per row took as long as the rest. The destination's secrets are
# nearly always empty, so they are read as text.
_OWN = ("pk", "kind", "issue_id", "version", "domain", "priority", "begun_at", "destination_id")
_DESTINATION = ("kind", "core", "label", "disabled_at", "disabled_reason")
_SUBSCRIPTION = ("pk", "status", "display_name", "token", "subscribable_id", "paused_until")
_OWN_ENDS, _DESTINATION_ENDS = len(_OWN), len(_OWN) + len(_DESTINATION) + 2
_TEXTS = {
    "destination_config": Cast("destination__config", TextField()),
    "destination_secrets": Cast("destination__secrets", TextField()),
}
_NO_CONFIG: dict[str, str] = {}
_NO_SECRETS = Sealed("")
_FIELDS = (
    *_OWN,
    *(f"destination__{name}" for name in _DESTINATION),
    "destination_config",
    "destination_secrets",
    *(f"subscription__{name}" for name in _SUBSCRIPTION),
)


class ClaimedDestination(NamedTuple):
    """`disabled`: why nothing may be sent there, or empty."""

    kind: str
    core: str
    label: str
    config: dict[str, str]
    secrets: Sealed
    disabled: str


class ClaimedSubscription(NamedTuple):
    pk: int
    status: str
    display_name: str
    token: str
    subscribable_id: int
    paused_until: datetime | None


class ClaimedDelivery(NamedTuple):
    """The fields of a Delivery that sending needs, with the lane as claimed.

    `begun_before`: when an earlier attempt with an unknown end began. `token` is the lease's.
    """

    pk: int
    kind: str
    issue_id: int | None
    version: int
    domain: str
    priority: int
    begun_before: datetime | None
    destination_id: int
    lane: Lane
    destination: ClaimedDestination
    subscription: ClaimedSubscription | None
    token: UUID
    claimed_at: datetime


def read_claimed(lane: Lane, pks: Sequence[int], *, token: UUID, now: datetime) -> list[ClaimedDelivery]:
    """Return these deliveries in sending order. In a transaction, as it changes how PostgreSQL plans."""
    if len(pks) > MANY_ROWS and connection.vendor == "postgresql":
        # Otherwise it reads all destinations and subscriptions of a list of up to 100,000 for each claim.
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off")
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
    letter: Letter
    ask: Callable[[HookRecipient], Mapping[str, str]] | None
    compose: Callable[[Recipient], Any] | None = None


@dataclass(eq=False, slots=True)
class SendTask:
    """`prepared` and `recipient` are set when the letter is made.

    `outcome` None: not begun, to be returned. `at`: when it ended. `begun`: a session had it.
    """

    delivery: ClaimedDelivery
    prepared: PreparedLetter | None = None
    recipient: Recipient | None = None
    # If it is a change.
    changes: SentPost | None = None
    outcome: Outcome | None = None
    at: datetime = NOT_YET
    begun: bool = False
    # Identifies it to a sender and the child; 0 before.
    number: int = 0
    # A sender must be notified when its outcome is durable.
    is_carried: bool = False
    # Its issue was paused or cancelled.
    recalled: bool = False
    # Of an earlier attempt, and data that its session keeps for the lane.
    progress: Mapping[str, Any] = field(default_factory=dict)
    new_state: Mapping[str, str] | None = None
    # Requests that the service refused.
    refusals: int = 0
    # Its connection waits for this call.
    released: Callable[[], object] | None = None

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
        """Raises what composing raises."""
        assert self.prepared and self.prepared.compose and self.recipient  # noqa: S101, PT018 - for mypy
        return self.prepared.compose(self.recipient)


class AcceptedTasks(list[SendTask]):
    """Tasks of one lane whose acceptance the child has recorded, and whose connections go on.

    `recalled`: their issues that are paused or cancelled.
    """

    recalled: frozenset[int] = frozenset()


# Groups of ended tasks. An empty one only wakes the waiting thread.
Done = SimpleQueue[Sequence[SendTask]]


class LaneSender(Protocol):
    """The connections of one lane.

    A connection begins its next message only after `settle` has confirmed that its last outcome is durable,
    so a killed worker repeats at most one message per connection.
    """

    width: int
    # The account cannot send: return waiting tasks instead of trying each.
    stopped: bool

    @property
    def opened(self) -> int:
        """Number of connections. Exceeds `width` for a while after it was lowered."""
        ...

    def resize(self, width: int) -> None:
        """Each finishes what it has."""
        ...

    def resume(self) -> None: ...

    def put(self, tasks: Sequence[SendTask]) -> None:
        """Hand over tasks, which return in the pass's queue."""
        ...

    def sweep(self) -> None: ...

    def cut_off(self) -> None:
        """Messages that a server may have get an unknown end."""
        ...

    def settle(self, tasks: Sequence[SendTask]) -> None: ...

    def leave(self) -> None: ...

    def join(self) -> None:
        """Wait up to LONGEST_GOODBYE."""
        ...
