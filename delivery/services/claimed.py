"""A claimed delivery, as the engine carries it about: plain values, hundreds of rows at a time."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import TextField
from django.db.models.functions import Cast

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
    paused_until: datetime | None


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


# (Dates only where they are needed: to read three of each row took as long as all the rest. What the
# destination keeps is nearly always empty: it is read as text.)
_OWN = ("pk", "kind", "issue_id", "domain", "priority", "begun_at", "destination_id")
_DESTINATION = ("kind", "core", "label", "disabled_at", "disabled_reason")
_SUBSCRIPTION = ("pk", "status", "display_name", "token", "subscribable_id", "paused_until")
_FIELDS = (
    *_OWN,
    *(f"destination__{name}" for name in _DESTINATION),
    "destination_config",
    "destination_secrets",
    *(f"subscription__{name}" for name in _SUBSCRIPTION),
)
_OWN_ENDS, _DESTINATION_ENDS = len(_OWN), len(_OWN) + len(_DESTINATION) + 2
_TEXTS = {
    "destination_config": Cast("destination__config", TextField()),
    "destination_secrets": Cast("destination__secrets", TextField()),
}
_NO_CONFIG: dict[str, str] = {}
_NO_SECRETS = Sealed("")


def read(lane: Lane, pks: Sequence[int]) -> list[Row]:
    """The deliveries of those keys, in the order of sending. One question."""
    rows = Delivery.objects.filter(pk__any_of=frozenset(pks)).order_by("priority", "due_at", "pk")
    rows = rows.annotate(**_TEXTS)
    return [_row(lane, values) for values in rows.values_list(*_FIELDS)]


def _row(lane: Lane, values: tuple[Any, ...]) -> Row:
    kind, core, label, disabled_at, why, config, secrets = values[_OWN_ENDS:_DESTINATION_ENDS]
    reader = values[_DESTINATION_ENDS:]
    disabled = (why or "it was disabled") if disabled_at else ""
    subscription = Reader._make(reader) if reader[0] is not None else None
    kept = _NO_CONFIG if config == "{}" else json.loads(config)
    sealed = Sealed(secrets) if secrets else _NO_SECRETS
    to = To(kind, core, label, kept, sealed, disabled)
    return Row._make((*values[:_OWN_ENDS], lane, to, subscription))
