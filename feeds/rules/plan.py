"""What a document means for the items we know: pure, replayable, made under the lock that applies it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from feeds.rules.facts import Adding, Document, Insert, Known, Plan, Seen
from feeds.rules.finality import Timing, is_final
from feeds.rules.floods import HELD_AT_MOST, RESTORED, is_flood
from feeds.rules.order import newest
from feeds.rules.reposts import REPOST, Former, habitual, outdated, reposted, returning

__all__ = ["Adding", "Document", "Insert", "Known", "Plan", "Seen", "plan_document", "plan_unchanged"]

OLDER = "older than the feed's adding"
THERE_BEFORE = "was in the feed when it was added"
BEYOND = "beyond the newest entries that are read in full"
# One or two posts are easily all new; that of many none is known means something.
ENOUGH_TO_TELL = 3


def plan_document(
    document: Document,
    known: Iterable[Known],
    *,
    done: Collection[str] = (),
    reposts: Collection[str] = (),
    formers: Collection[Former] = (),
    previous: Sequence[str],
    timing: Timing,
    added_at: datetime,
    adding: Adding | None,
    moment: datetime,
    hold_floods: bool = False,
    hold_new: bool = False,
    partial: bool = False,
) -> Plan:
    """The plan for a document that was requested at `moment`.

    `known` are the items that may change, `done` the ids of those that were sent or excluded, `reposts`
    those of `done` that were excluded for being one. `formers` are the items at the links of new ids and of
    reposts, in `known` too where they may change (none: reposts are not recognised). `previous` is the last
    document's order, newest first; `adding` is given at the first document only. A `partial` document was
    pushed by a hub and may hold only what is new: nothing is missing for not being in it. `hold_new`: a
    backup was restored, and what looks new may have been sent already.
    """
    plan = Plan()
    rows = {row.id: row for row in known}
    plan.all_unknown = _all_unknown(document, rows, done, previous)
    twins = {} if adding else _twins(document, rows, done, reposts, formers, previous)
    if partial:
        plan.deferred = tuple(twins)
    else:
        twins |= _back(document, rows, reposts, formers)
        _join(plan, rows, document, twins, formers)
    wanted = _wanted(document, adding)
    for id_ in reversed(document.newest_first()):
        row = rows.get(id_)
        if row is not None:
            _see(plan, row, document.entries.get(id_), timing, moment, partial=partial)
        elif id_ not in done and id_ not in plan.deferred:
            plan.insert.append(
                Insert(id_, excluded=REPOST)
                if id_ in twins
                else _insert(id_, document, wanted, added_at, timing)
            )
    if hold_new:
        _hold_new(plan)
        plan.held_for = RESTORED
    elif hold_floods and adding is None and _is_flood(plan, len(document.order)):
        _hold_new(plan)
    if partial:
        plan.calm.clear()
    else:
        there = {*document.order, *(former.id for former in twins.values())}
        _look_for_missing(plan, rows.values(), there, previous, timing, moment)
    plan.holds = _holds(plan, rows.values())
    return plan


def plan_unchanged(known: Iterable[Known], *, timing: Timing, moment: datetime) -> Plan:
    """A 304 or the same body again: every waiting item is confirmed as it is."""
    plan = Plan()
    rows = [row for row in known if row.waits]
    for row in rows:
        _confirm(plan, row, timing, moment, changed=False)
    plan.holds = _holds(plan, rows)
    return plan


def _all_unknown(
    document: Document, rows: Collection[str], done: Collection[str], previous: Sequence[str]
) -> bool:
    if len(document.order) < ENOUGH_TO_TELL or len(previous) < ENOUGH_TO_TELL:
        return False
    return not any(id_ in rows or id_ in done for id_ in document.order)


def _twins(
    document: Document,
    rows: Collection[str],
    done: Collection[str],
    reposts: Collection[str],
    formers: Collection[Former],
    previous: Sequence[str],
) -> dict[str, Former]:
    """New ids, and reposts that are back, each with the item that it is the same post as."""
    if not formers:
        return {}
    candidates = [id_ for id_ in document.order if id_ not in rows and (id_ not in done or id_ in reposts)]
    return reposted(
        candidates, formers, links=document.links, there=set(document.order), previous=set(previous)
    )


def _back(
    document: Document, rows: Mapping[str, Known], reposts: Collection[str], formers: Collection[Former]
) -> dict[str, Former]:
    """Ids that were left behind and are back, each with the item, of those that may change, that had it."""
    candidates = [id_ for id_ in document.order if id_ in reposts and id_ not in rows]
    if not candidates:
        return {}
    waiting = {id_ for id_, row in rows.items() if row.state == "unassigned"}
    return returning(candidates, formers, links=document.links, there=set(document.order), waiting=waiting)


def _join(
    plan: Plan,
    rows: dict[str, Known],
    document: Document,
    twins: dict[str, Former],
    formers: Collection[Former],
) -> None:
    """What may still change takes over the new id, for nothing may be lost; what is done stays done."""
    for id_, former in twins.items():
        row = rows.get(former.id)
        if row is not None and row.state == "unassigned":
            plan.rekey[row.pk] = id_
            rows[id_] = replace(rows.pop(former.id), id=id_)
    links = {former.link for former in twins.values()}
    plan.reposts = len(twins)
    plan.habitual = habitual(formers, links)
    plan.forget = outdated(formers, links, keep=set(document.order))


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


def _is_flood(plan: Plan, shown: int) -> bool:
    return is_flood(sum(not insert.excluded for insert in plan.insert), shown)


def _hold_new(plan: Plan) -> None:
    plan.insert = [
        insert if insert.excluded else replace(insert, held=True, final=False) for insert in plan.insert
    ]


def _see(
    plan: Plan, row: Known, entry: Seen | None, timing: Timing, moment: datetime, *, partial: bool
) -> None:
    if row.state not in ("unassigned", "assigned"):
        return
    if row.vanished:
        # Withdrawn and back: new again, if there is content to begin with. A push may only be late.
        if entry is not None and not partial:
            plan.restart[row.pk] = row.id
            if timing.at_first_sight and not row.held:
                plan.finalise.append(row.pk)
        return
    changed = entry is not None and entry.content_hash != row.content_hash
    if changed:
        plan.rewrite[row.pk] = row.id
    elif entry is not None:
        plan.steady += 1
        if row.changes:
            plan.calm.append(row.pk)
    if row.state == "assigned":
        return
    if row.rolled_off:
        plan.roll_back.append(row.pk)
    if changed:
        plan.unsettle.append(row.pk)
    if partial:
        # Nobody knows how old the hub's copy is: what is known settles at readings only.
        return
    _confirm(plan, row, timing, moment, changed=changed)


def _confirm(plan: Plan, row: Known, timing: Timing, moment: datetime, *, changed: bool) -> None:
    plan.confirm.append(row.pk)
    if row.final or row.held:
        return
    if is_final(
        timing, first_seen=row.first_seen, stable_since=row.stable_since, moment=moment, changed=changed
    ):
        plan.finalise.append(row.pk)


def _look_for_missing(
    plan: Plan,
    rows: Iterable[Known],
    there: Collection[str],
    previous: Sequence[str],
    timing: Timing,
    moment: datetime,
) -> None:
    """Withdrawn if an entry that stood after it (older) is still there; else it rolled off the old end."""
    place = {id_: number for number, id_ in enumerate(previous)}
    oldest_there = max((number for id_, number in place.items() if id_ in there), default=-1)
    missing = [row for row in rows if row.waits and row.id not in there]
    too_many = _too_many(plan, missing) if there else set()
    for row in missing:
        if row.pk in too_many:
            plan.drop.append(row.pk)
        elif place.get(row.id, oldest_there) < oldest_there:
            plan.vanish.append(row.pk)
        else:
            if there and not row.rolled_off:
                plan.roll_off.append(row.pk)
            _confirm(plan, row, timing, moment, changed=False)


def _too_many(plan: Plan, missing: Iterable[Known]) -> set[int]:
    """The oldest of the held items that left the feed: one that makes up ids would bring ever more."""
    held = sorted(row.pk for row in missing if row.held)
    coming = sum(insert.held for insert in plan.insert)
    return set(held[: max(0, len(held) + coming - HELD_AT_MOST)])


def _holds(plan: Plan, rows: Iterable[Known]) -> bool:
    gone = {*plan.vanish, *plan.drop}
    waiting = (row for row in rows if row.held and row.state == "unassigned" and row.pk not in gone)
    return any(not row.vanished or row.pk in plan.restart for row in waiting) or any(
        insert.held for insert in plan.insert
    )
