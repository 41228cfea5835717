from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from common.db.bulk import find_rows
from subscriptions.lists.reading import RefusedRow, Wanted
from subscriptions.models import (
    Destination,
    OldNumber,
    Subscribable,
    SubscriberTag,
    Subscription,
    Suppression,
)
from subscriptions.privacy.erase import erased_among
from subscriptions.rules.lists.rows import (
    NO_PROOF,
    KnownSubscriber,
    ListRow,
    Proof,
    RowChange,
    UnusableLine,
    after,
    change,
)
from subscriptions.rules.tags import MOST_TAGS, tag_key
from subscriptions.subscribers.tags import tags_of

NOBODY = KnownSubscriber()


@dataclass(frozen=True, slots=True)
class ExistingSubscriber:
    known: KnownSubscriber = NOBODY
    destination: int | None = None
    subscription: int | None = None


@dataclass(slots=True)
class Planned:
    wanted: Wanted
    standing: ExistingSubscriber
    then: KnownSubscriber
    added: datetime | None = None
    confirmed: datetime | None = None
    left: datetime | None = None
    proof: Proof = NO_PROOF
    # Names by key.
    tags: dict[str, str] = field(default_factory=dict)

    def take(self, row: ListRow, then: KnownSubscriber) -> None:
        self.then = then
        self.added = self.added or row.added or row.confirmed
        self.confirmed = row.confirmed or self.confirmed
        self.left = row.left or self.left
        self.proof = row.proof or self.proof
        for tag in row.tags:
            self.tags.setdefault(tag_key(tag), tag)

    @property
    def change(self) -> RowChange:
        return change(self.standing.known, self.then)


@dataclass(slots=True)
class ImportPlan:
    """Changes by core, and counts of lines."""

    planned: dict[str, Planned] = field(default_factory=dict)
    refused: list[RefusedRow] = field(default_factory=list)
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    # People who got the newsletter, and now don't.
    ending: int = 0
    # For ListChange.
    changes: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def count(self, done: RowChange) -> None:
        self.added += done is RowChange.ADD
        self.updated += done is RowChange.UPDATE
        self.unchanged += done is RowChange.NOTHING

    def doing(self, done: RowChange) -> list[Planned]:
        return [one for one in self.planned.values() if one.change is done]


def plan_import(
    lines: Sequence[Wanted], existing: Mapping[str, ExistingSubscriber], owners: Mapping[int, int]
) -> ImportPlan:
    """Plan each line, based on the lines before it. `owners`: subscriptions by upstream number."""
    made, given = ImportPlan(), dict[int, str]()
    tags = set[str]()
    if any(wanted.row.tags for wanted in lines):
        tags.update(SubscriberTag.objects.order_by().values_list("key", flat=True))
    for wanted in lines:
        core = wanted.parsed.core
        one = made.planned.get(core)
        standing = one.standing if one else existing.get(core, ExistingSubscriber())
        before = one.then if one else standing.known
        try:
            then = after(wanted.row, before)
            new_tags = then.tags - tags
            if new_tags and len(tags) + len(new_tags) > MOST_TAGS:
                raise UnusableLine(f"there would be more than {MOST_TAGS:,} tags; is this a column of tags?")
        except UnusableLine as error:
            made.refused.append(RefusedRow(wanted.line, str(error), tuple(wanted.cells), error.kind))
            continue
        if then.upstream_ids != before.upstream_ids:
            # A number stays with its subscription. A free one goes to the first address with it.
            own = standing.subscription
            free = (
                number
                for number in then.upstream_ids
                if owners.get(number, own) == own and given.setdefault(number, core) == core
            )
            then = replace(then, upstream_ids=tuple(free))
        tags |= new_tags
        made.count(change(before, then))
        made.ending += standing.known.outcome == before.outcome == "gets" != then.outcome
        if one is None:
            one = made.planned[core] = Planned(wanted, standing, then)
        one.take(wanted.row, then)
    return made


def owners_of_upstream_ids(lines: Iterable[Wanted]) -> dict[int, int]:
    """Return subscriptions of any newsletter, by upstream number."""
    numbers = {number for wanted in lines for number in wanted.row.upstream_ids}
    if not numbers:
        return {}
    first = find_rows(Subscription, ["id"], key="upstream_id", values=numbers)
    return dict([*first, *find_rows(OldNumber, ["subscription"], key="number", values=numbers)])


def existing_subscribers(
    subscribable: Subscribable, lines: Sequence[Wanted], *, lock: bool = False
) -> dict[str, ExistingSubscriber]:
    """Return known addresses, with tags if any line has some, in a fixed number of queries.

    With `lock`, subscriptions are locked in the order of keys.
    """
    wanted, kind = {each.parsed.core for each in lines}, subscribable.channel
    suppressed = {row[0] for row in find_rows(Suppression, ["id"], key="core", values=wanted, kind=kind)}
    destinations = dict(find_rows(Destination, ["id"], key="core", values=wanted, kind=kind))
    columns = ("id", "status", "display_name", "language", "upstream_id")
    found: Iterable[tuple[Any, ...]] = find_rows(
        Subscription, columns, key="destination", values=destinations.values(), subscribable=subscribable.pk
    )
    if lock and found:
        rows = Subscription.objects.filter(pk__any_of=frozenset(row[1] for row in found)).order_by("pk")
        locked = rows.select_for_update(of=("self",), no_key=True)
        found = locked.values_list("destination_id", *columns)
    subscriptions = {row[0]: row[1:] for row in found}
    further = further_upstream_ids(row[0] for row in subscriptions.values())
    tags = tags_of(destinations.values()) if any(each.row.tags for each in lines) else {}
    erased = erased_among(kind, wanted)
    existing: dict[str, ExistingSubscriber] = {}
    for core in suppressed | destinations.keys() | erased:
        destination, is_suppressed = destinations.get(core), core in suppressed
        own_tags = frozenset(map(tag_key, tags.get(destination or 0, ())))
        if destination is None or destination not in subscriptions:
            known = KnownSubscriber(suppressed=is_suppressed, tags=own_tags, is_erased=core in erased)
            existing[core] = ExistingSubscriber(known, destination)
            continue
        pk, status, name, language, upstream_id = subscriptions[destination]
        upstream_ids = (*([upstream_id] if upstream_id else []), *further.get(pk, ()))
        known = KnownSubscriber(status, name, language, is_suppressed, upstream_ids, own_tags)
        existing[core] = ExistingSubscriber(known, destination, pk)
    return existing


def further_upstream_ids(subscriptions: Iterable[int]) -> dict[int, list[int]]:
    numbers: dict[int, list[int]] = {}
    rows = OldNumber.objects.filter(subscription__pk__any_of=frozenset(subscriptions)).order_by("pk")
    for subscription, number in rows.values_list("subscription_id", "number"):
        numbers.setdefault(subscription, []).append(number)
    return numbers
