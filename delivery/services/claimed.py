"""A claimed delivery, as the engine carries it about: plain values, hundreds of rows at a time."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from common.secrets import Sealed
from delivery.models import Delivery, Lane


class To(NamedTuple):
    """The destination. `disabled`: why nothing is sent there; empty where it may be."""

    kind: str
    core: str
    label: str
    config: dict[str, str]
    secrets: Sealed
    disabled: str


class Reader(NamedTuple):
    """The subscription behind it."""

    pk: int
    status: str
    display_name: str
    token: str
    subscribable_id: int


class Row(NamedTuple):
    """What sending needs of a Delivery, under the same names; `lane` as it was claimed from."""

    pk: int
    kind: str
    issue_id: int | None
    domain: str
    priority: int
    begun_at: datetime | None
    destination_id: int
    lane: Lane
    destination: To
    subscription: Reader | None

    @property
    def lane_id(self) -> int:
        return int(self.lane.pk)


class Job(NamedTuple):
    """A claimed delivery. `begun_before`: since when an earlier attempt's end is unknown."""

    row: Row
    token: UUID
    begun_before: datetime | None
    claimed_at: datetime

    @property
    def pk(self) -> int:
        return self.row.pk


# (Dates only where they are needed: to read three of each row took as long as all the rest.)
_OWN = ("pk", "kind", "issue_id", "domain", "priority", "begun_at", "destination_id")
_DESTINATION = ("kind", "core", "label", "config", "secrets", "disabled_at", "disabled_reason")
_SUBSCRIPTION = ("pk", "status", "display_name", "token", "subscribable_id")
_FIELDS = (
    *_OWN,
    *(f"destination__{name}" for name in _DESTINATION),
    *(f"subscription__{name}" for name in _SUBSCRIPTION),
)
_OWN_ENDS, _DESTINATION_ENDS = len(_OWN), len(_OWN) + len(_DESTINATION)


def read(lane: Lane, pks: Sequence[int]) -> list[Row]:
    """The deliveries of those keys, in the order of sending. One question."""
    rows = Delivery.objects.filter(pk__any_of=frozenset(pks)).order_by("priority", "due_at", "pk")
    return [_row(lane, values) for values in rows.values_list(*_FIELDS)]


def _row(lane: Lane, values: tuple[Any, ...]) -> Row:
    *to, disabled_at, why = values[_OWN_ENDS:_DESTINATION_ENDS]
    reader = values[_DESTINATION_ENDS:]
    disabled = (why or "it was disabled") if disabled_at else ""
    subscription = Reader._make(reader) if reader[0] is not None else None
    return Row._make((*values[:_OWN_ENDS], lane, To._make((*to, disabled)), subscription))
