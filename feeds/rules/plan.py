"""What a document means for the items we know: pure, replayable, made under the lock that applies it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from feeds.rules.finality import Timing, is_final
from feeds.rules.order import newest, newest_first

OLDER = "older than the feed's adding"
THERE_BEFORE = "was in the feed when it was added"
BEYOND = "beyond the newest entries that are read in full"


@dataclass(frozen=True, slots=True)
class Known:
    """An item as its row stands. `id` is the digest of its guid."""

    pk: int
    id: str
    state: str
    content_hash: str
    first_seen: datetime
    stable_since: datetime
    vanished: bool = False
    rolled_off: bool = False
    final: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """An entry of the document that was read in full."""

    content_hash: str
    published: datetime | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """All ids in the document's order; the newest of them in full."""

    order: tuple[str, ...]
    entries: Mapping[str, Seen]

    @property
    def published(self) -> dict[str, datetime | None]:
        return {id_: entry.published for id_, entry in self.entries.items()}

    def newest_first(self) -> list[str]:
        return newest_first(self.order, self.published)


@dataclass(frozen=True, slots=True)
class Adding:
    """What the first document of a feed means: `start` is from_now, last (with `count`) or all."""

    start: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class Insert:
    id: str
    excluded: str = ""
    final: bool = False


@dataclass(slots=True)
class Plan:
    """Lists of primary keys (`insert`: of new rows; `rewrite` and `restart`: pk → id, with new content)."""

    insert: list[Insert] = field(default_factory=list)
    rewrite: dict[int, str] = field(default_factory=dict)
    unsettle: list[int] = field(default_factory=list)
    restart: dict[int, str] = field(default_factory=dict)
    confirm: list[int] = field(default_factory=list)
    finalise: list[int] = field(default_factory=list)
    roll_off: list[int] = field(default_factory=list)
    roll_back: list[int] = field(default_factory=list)
    vanish: list[int] = field(default_factory=list)


def plan_document(
    document: Document,
    known: Iterable[Known],
    *,
    done: Collection[str] = (),
    previous: Sequence[str],
    timing: Timing,
    added_at: datetime,
    adding: Adding | None,
    moment: datetime,
) -> Plan:
    """The plan for a document that was requested at `moment`.

    `known` are the items that may change, `done` the ids of those that were sent or excluded. `previous`
    is the last document's order, newest first; `adding` is given at the first document only.
    """
    plan = Plan()
    rows = {row.id: row for row in known}
    wanted = _wanted(document, adding)
    for id_ in reversed(document.newest_first()):
        row = rows.get(id_)
        if row is not None:
            _see(plan, row, document.entries.get(id_), timing, moment)
        elif id_ not in done:
            plan.insert.append(_insert(id_, document, wanted, added_at, timing))
    _look_for_missing(plan, rows.values(), document, previous, timing, moment)
    return plan


def plan_unchanged(known: Iterable[Known], *, timing: Timing, moment: datetime) -> Plan:
    """A 304 or the same body again: every waiting item is confirmed as it is."""
    plan = Plan()
    for row in known:
        if row.state == "unassigned" and not row.vanished:
            _confirm(plan, row, timing, moment, changed=False)
    return plan


def _wanted(document: Document, adding: Adding | None) -> set[str] | None:
    """At the adding: the ids to send. None later."""
    if adding is None:
        return None
    if adding.start == "all":
        return set(document.entries)
    if adding.start == "last":
        return newest(
            [id_ for id_ in document.order if id_ in document.entries], document.published, adding.count
        )
    return set()


def _insert(
    id_: str, document: Document, wanted: set[str] | None, added_at: datetime, timing: Timing
) -> Insert:
    entry = document.entries.get(id_)
    if wanted is not None and id_ not in wanted:
        return Insert(id_, excluded=THERE_BEFORE)
    if entry is None:
        return Insert(id_, excluded=BEYOND)
    if wanted is None and entry.published is not None and entry.published <= added_at:
        return Insert(id_, excluded=OLDER)
    return Insert(id_, final=timing.at_first_sight)


def _see(plan: Plan, row: Known, entry: Seen | None, timing: Timing, moment: datetime) -> None:
    changed = entry is not None and entry.content_hash != row.content_hash
    if row.state == "assigned":
        if changed:
            plan.rewrite[row.pk] = row.id
        return
    if row.state != "unassigned":
        return
    if row.vanished:
        # Withdrawn and back: new again, if there is content to begin with.
        if entry is not None:
            plan.restart[row.pk] = row.id
            if timing.at_first_sight:
                plan.finalise.append(row.pk)
        return
    if row.rolled_off:
        plan.roll_back.append(row.pk)
    if changed:
        plan.rewrite[row.pk] = row.id
        plan.unsettle.append(row.pk)
    _confirm(plan, row, timing, moment, changed=changed)


def _confirm(plan: Plan, row: Known, timing: Timing, moment: datetime, *, changed: bool) -> None:
    plan.confirm.append(row.pk)
    if not row.final and is_final(
        timing, first_seen=row.first_seen, stable_since=row.stable_since, moment=moment, changed=changed
    ):
        plan.finalise.append(row.pk)


def _look_for_missing(
    plan: Plan,
    rows: Iterable[Known],
    document: Document,
    previous: Sequence[str],
    timing: Timing,
    moment: datetime,
) -> None:
    """Withdrawn if an entry that stood after it (older) is still there; else it rolled off the old end."""
    there = set(document.order)
    place = {id_: number for number, id_ in enumerate(previous)}
    oldest_there = max((number for id_, number in place.items() if id_ in there), default=-1)
    for row in rows:
        if row.state != "unassigned" or row.vanished or row.id in there:
            continue
        if place.get(row.id, oldest_there) < oldest_there:
            plan.vanish.append(row.pk)
            continue
        if there and not row.rolled_off:
            plan.roll_off.append(row.pk)
        _confirm(plan, row, timing, moment, changed=False)
