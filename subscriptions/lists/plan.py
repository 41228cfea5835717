"""What a batch of lines would do to the subscribers there are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from common.db.bulk import find_rows
from subscriptions.lists.reading import RefusedRow, Wanted
from subscriptions.models import Destination, OldNumber, Subscribable, Subscription, Suppression
from subscriptions.rules.list_rows import (
    NO_PROOF,
    Change,
    KnownSubscriber,
    ListRow,
    Proof,
    RefusedLine,
    after,
    change,
)

NOBODY = KnownSubscriber()


@dataclass(frozen=True, slots=True)
class ExistingSubscriber:
    """An address as it is: keys of what is there already."""

    known: KnownSubscriber = NOBODY
    destination: int | None = None
    subscription: int | None = None


@dataclass(slots=True)
class Planned:
    """What becomes of one address: what all its lines say together."""

    wanted: Wanted
    standing: ExistingSubscriber
    then: KnownSubscriber
    added: datetime | None = None
    confirmed: datetime | None = None
    left: datetime | None = None
    proof: Proof = NO_PROOF

    def take(self, row: ListRow, then: KnownSubscriber) -> None:
        self.then = then
        self.added = self.added or row.added or row.confirmed
        self.confirmed = row.confirmed or self.confirmed
        self.left = row.left or self.left
        self.proof = row.proof or self.proof

    @property
    def change(self) -> Change:
        return change(self.standing.known, self.then)


@dataclass(slots=True)
class ImportPlan:
    """By core; with how many lines do what."""

    planned: dict[str, Planned] = field(default_factory=dict)
    refused: list[RefusedRow] = field(default_factory=list)
    added: int = 0
    updated: int = 0
    unchanged: int = 0

    def count(self, done: Change) -> None:
        self.added += done is Change.ADD
        self.updated += done is Change.UPDATE
        self.unchanged += done is Change.NOTHING

    def doing(self, done: Change) -> list[Planned]:
        return [one for one in self.planned.values() if one.change is done]


def plan(
    lines: Iterable[Wanted], standings: Mapping[str, ExistingSubscriber], held: Mapping[int, int]
) -> ImportPlan:
    """Each line upon what the lines before it leave; `held` says whose upstream's numbers are (`bearers`)."""
    made, numbers = ImportPlan(), _Numbers(held)
    for wanted in lines:
        core = wanted.parsed.core
        one = made.planned.get(core)
        standing = one.standing if one else standings.get(core, ExistingSubscriber())
        before = one.then if one else standing.known
        try:
            then = after(wanted.row, before)
        except RefusedLine as error:
            made.refused.append(RefusedRow(wanted.line, str(error), tuple(wanted.cells)))
            continue
        if then.upstream_ids != before.upstream_ids:
            free = (each for each in then.upstream_ids if numbers.is_free(each, core, standing.subscription))
            then = replace(then, upstream_ids=tuple(free))
        made.count(change(before, then))
        if one is None:
            one = made.planned[core] = Planned(wanted, standing, then)
        one.take(wanted.row, then)
    return made


class _Numbers:
    """Upstream's numbers: each stays with the subscription that has it."""

    def __init__(self, held: Mapping[int, int]) -> None:
        self._held, self._given = held, dict[int, str]()

    def is_free(self, number: int, core: str, subscription: int | None) -> bool:
        """Whether the address may have it; if so, nobody else may."""
        if self._held.get(number, subscription) != subscription:
            return False
        return self._given.setdefault(number, core) == core


def bearers(lines: Iterable[Wanted]) -> dict[int, int]:
    """The subscriptions, of any newsletter, that have upstream's numbers which the lines name."""
    numbers = {number for wanted in lines for number in wanted.row.upstream_ids}
    if not numbers:
        return {}
    first = find_rows(Subscription, ["id"], key="upstream_id", values=numbers)
    return dict([*first, *find_rows(OldNumber, ["subscription"], key="number", values=numbers)])


def standings(
    subscribable: Subscribable, cores: Iterable[str], *, lock: bool = False
) -> dict[str, ExistingSubscriber]:
    """How those of the addresses stand of which anything is known. Some questions, however many they are."""
    wanted, kind = set(cores), subscribable.channel
    suppressed = {row[0] for row in find_rows(Suppression, ["id"], key="core", values=wanted, kind=kind)}
    there = dict(find_rows(Destination, ["id"], key="core", values=wanted, kind=kind))
    rows = _subscriptions(subscribable, there.values(), lock=lock)
    numbers = further_numbers(row[0] for row in rows.values())
    return {
        core: _standing(core, core in suppressed, there, rows, numbers) for core in suppressed | there.keys()
    }


Row = tuple[int, str, str, str, int | None]


def further_numbers(subscriptions: Iterable[int]) -> dict[int, list[int]]:
    """The OldNumbers of these subscriptions, in the order in which they came."""
    found: dict[int, list[int]] = {}
    rows = OldNumber.objects.filter(subscription__pk__any_of=frozenset(subscriptions)).order_by("pk")
    for subscription, number in rows.values_list("subscription_id", "number"):
        found.setdefault(subscription, []).append(number)
    return found


def _subscriptions(subscribable: Subscribable, destinations: Iterable[int], *, lock: bool) -> dict[int, Row]:
    """By destination; locked in pk order."""
    columns = ("id", "status", "display_name", "language", "upstream_id")
    found: Iterable[tuple[Any, ...]] = find_rows(
        Subscription, columns, key="destination", values=destinations, subscribable=subscribable.pk
    )
    if lock and found:
        rows = Subscription.objects.filter(pk__any_of=frozenset(row[1] for row in found)).order_by("pk")
        locked = rows.select_for_update(of=("self",), no_key=True)
        found = locked.values_list("destination_id", *columns)
    return {row[0]: (row[1], row[2], row[3], row[4], row[5]) for row in found}


def _standing(
    core: str,
    is_suppressed: bool,
    there: Mapping[str, int],
    rows: Mapping[int, Row],
    numbers: Mapping[int, Sequence[int]],
) -> ExistingSubscriber:
    destination = there.get(core)
    row = rows.get(destination) if destination is not None else None
    if row is None:
        return ExistingSubscriber(KnownSubscriber(suppressed=is_suppressed), destination)
    pk, status, name, language, upstream_id = row
    upstream_ids = (*([upstream_id] if upstream_id else []), *numbers.get(pk, ()))
    return ExistingSubscriber(
        KnownSubscriber(status, name, language, is_suppressed, upstream_ids), destination, pk
    )
