"""Plans changes of items. Pure; called under the lock that applies them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType

from feeds.rules.age import at_the_new_end, is_newer, is_older
from feeds.rules.facts import Adding, Document, Insert, KnownItem, PollPlan, Seen, is_ranked, newest_ids
from feeds.rules.finality import (
    HELD_AT_MOST,
    MINUTE,
    RESTORED,
    SENT_ELSEWHERE,
    SHOWN_LATE,
    Timing,
    follows_on,
    is_batch_like_before,
    is_final,
    is_flood,
    is_mostly_older,
)
from feeds.rules.reposts import REPOST, Former, corrected, habitual, outdated, reposted, returning, suspects

__all__ = ["Adding", "Document", "Insert", "KnownItem", "PollPlan", "Seen", "plan_document", "plan_unchanged"]

OLDER = "older than the feed's adding"
THERE_BEFORE = "was in the feed when it was added"
NAMESAKE = "shared its id with another post, which counted"
BEYOND = "beyond the newest entries that are read in full"
NONE_KNOWN: Mapping[tuple[str, str], float] = MappingProxyType({})
# One or two posts are easily all new.
ENOUGH_TO_TELL = 3
# If more than one in four left a document of the same length, it shows others.
MANY_LEFT = 4
# Then the clock continues: perhaps two caches answer in turn.
FLICKERS = 2


def plan_document(
    document: Document,
    known: Iterable[KnownItem],
    *,
    done: Collection[str] = (),
    reposts: Collection[str] = (),
    formers: Collection[Former] = (),
    similarities: Mapping[tuple[str, str], float] = NONE_KNOWN,
    previous: Sequence[str],
    timing: Timing,
    added_at: datetime,
    adding: Adding | None,
    moment: datetime,
    read_at: datetime | None = None,
    behind: timedelta = timedelta(0),
    join: bool = True,
    hold_floods: bool = False,
    floods_sent: bool = False,
    hold_new: bool = False,
    elsewhere_until: datetime | None = None,
    partial: bool = False,
) -> PollPlan:
    """Return the plan for a document requested at `moment`.

    `known`: items that may change. `done`: ids of sent or excluded items, among them `reposts`. `formers`:
    items whose post may have a new id, recognised with `join`, also by `similarities` of texts (new id,
    former). `previous`: order of the document of `read_at`, newest first. `behind`: lag of the server's
    clock. `adding`: for the first document; `added_at` is then the request. `partial`: pushed; missing posts
    mean nothing. `floods_sent`: hold only unknown, mostly older documents. `hold_new`: a backup was restored.
    `elsewhere_until`: another program read the feed until then.
    """
    plan = PollPlan()
    rows = {row.id: row for row in known}
    told = {id_ for id_, row in rows.items() if read_at is None or row.first_seen <= read_at}.union(done)
    moved = not partial and bool(document.order) and told.isdisjoint(document.order)
    twins = _recognise(
        plan,
        rows,
        document,
        done,
        reposts,
        formers,
        previous,
        join=join and not adding,
        similarities=similarities,
        moment=moment,
        moved=moved,
        partial=partial,
    )
    plan.came_back = tuple(former.id for former in twins.values())
    unwanted = _unwanted(document, adding, told.union(twins), added_at=added_at, behind=behind, moment=moment)
    long_out = _long_out(document, timing, moment) if adding else set()
    for id_ in reversed(document.newest_first()):
        row = rows.get(id_)
        if row is not None:
            _see(plan, row, document.entries.get(id_), timing, moment, partial=partial)
        elif id_ not in done and id_ not in plan.deferred:
            why_not = REPOST if id_ in twins else unwanted.get(id_, "")
            settled = timing.at_first_sight or id_ in long_out
            plan.insert.append(Insert(id_, excluded=why_not, final=settled and not why_not))
    plan.all_unknown = moved and min(len(document.order), len(previous)) >= ENOUGH_TO_TELL
    before = set(previous) if moved and adding is None and plan.insert else set()
    formers_before = [former for former in formers if former.id in before]
    shown = len(previous)
    goes_on = bool(before) and follows_on(document, formers_before, shown_before=shown, read_at=read_at)
    plan.stranger = bool(before) and not twins and not goes_on
    # Another program may have left those out.
    counted = [insert for insert in plan.insert if elsewhere_until is None or not insert.excluded]
    new = sum(insert.excluded != REPOST for insert in counted)
    usual = goes_on and is_batch_like_before(document, formers_before, shown_before=shown)
    floods = plan.stranger or (is_flood(new, len(document.order)) and not usual)
    if floods_sent:
        floods = plan.stranger and is_mostly_older(document, formers_before)
    floods = floods and hold_floods and adding is None
    doubtful = _doubtful(document, elsewhere_until, behind) if elsewhere_until else set()
    if hold_new or floods or doubtful:
        plan.insert = [
            replace(insert, held=True, final=False)
            if not insert.excluded and (hold_new or floods or insert.id in doubtful)
            else insert
            for insert in plan.insert
        ]
        plan.held_for = RESTORED if hold_new else SENT_ELSEWHERE if doubtful else ""
    if partial:
        plan.calm.clear()
    else:
        there = {*document.order, *plan.came_back}
        returned = told.intersection(document.order).difference(previous, reposts)
        _look_for_missing(plan, rows.values(), there, previous, timing, moment, read_at if returned else None)
        if plan.set_aside and _shows_others(document, there, () if returned else previous):
            plan.set_aside.clear()
    plan.holds = _holds(plan, rows.values())
    return plan


def plan_unchanged(known: Iterable[KnownItem], *, timing: Timing, moment: datetime) -> PollPlan:
    """Plan a 304 or an identical body."""
    plan = PollPlan()
    rows = [row for row in known if row.waits]
    for row in rows:
        _confirm(plan, row, timing, moment, changed=False)
    plan.holds = _holds(plan, rows)
    return plan


def _recognise(
    plan: PollPlan,
    rows: dict[str, KnownItem],
    document: Document,
    done: Collection[str],
    reposts: Collection[str],
    formers: Collection[Former],
    previous: Sequence[str],
    *,
    join: bool,
    similarities: Mapping[tuple[str, str], float],
    moment: datetime,
    moved: bool,
    partial: bool,
) -> dict[str, Former]:
    twins: dict[str, Former] = {}
    there = set(document.order)
    if join and formers:
        dates = document.published
        entries = {id_: replace(entry, published=dates[id_]) for id_, entry in document.entries.items()}
        twins = reposted(
            [id_ for id_ in document.order if id_ not in rows and (id_ not in done or id_ in reposts)],
            formers,
            entries=entries,
            there=there,
            previous=set(previous),
            moved=moved,
        )
        if not moved:
            recognised = {former.id for former in twins.values()}
            suspected = suspects(
                [id_ for id_ in entries if id_ not in rows and id_ not in done and id_ not in twins],
                [former for former in formers if former.id not in recognised],
                entries=entries,
                order=document.newest_first(),
                previous=previous,
                recognised=recognised,
                moment=moment,
                partial=partial,
            )
            twins |= corrected(suspected, similarities)
    if partial:
        plan.deferred = tuple(twins)
        return twins
    # Ids left behind that are back, or replace such an id.
    left = {*reposts, *(id_ for id_, former in twins.items() if former.repost)}
    if back := [id_ for id_ in document.order if id_ in left and id_ not in rows]:
        waiting = {id_ for id_, row in rows.items() if row.state == "unassigned"}
        twins |= returning(back, formers, links=document.links, there=there, waiting=waiting)
    # So nothing is lost.
    for id_, former in twins.items():
        row = rows.get(former.id)
        if row is not None and row.state == "unassigned":
            plan.rekey[row.pk] = id_
            rows[id_] = replace(rows.pop(former.id), id=id_)
    plan.reposts = len(twins)
    plan.habitual = habitual(formers, list(twins.values()))
    plan.forget = outdated(formers, list(twins.values()), keep=there)
    return twins


def _unwanted(
    document: Document,
    adding: Adding | None,
    told: Collection[str],
    *,
    added_at: datetime,
    behind: timedelta,
    moment: datetime,
) -> dict[str, str]:
    """Return new ids that must not be sent, with reasons.

    At the adding, posts since `added_at` are always sent.
    """
    dates = document.published
    if adding is None:
        new = at_the_new_end(document.newest_first(), dates, told, moment)
        old = {
            id_
            for id_, entry in document.entries.items()
            if is_older(dates[id_], entry.slack, added_at=added_at, behind=behind, at_new_end=id_ in new)
        }
        beyond = (id_ for id_ in document.order if id_ not in document.entries)
        return {**dict.fromkeys(beyond, BEYOND), **dict.fromkeys(old, OLDER)}
    wanted = {
        id_
        for id_, entry in document.entries.items()
        if adding.start == "all"
        or is_newer(dates[id_], entry.slack, since=added_at, until=moment, behind=behind)
    }
    if adding.start == "last":
        in_full = [id_ for id_ in document.order if id_ in document.entries]
        wanted |= newest_ids(in_full, dates, adding.count)
    return {id_: THERE_BEFORE for id_ in document.order if id_ not in wanted}


def _doubtful(document: Document, elsewhere_until: datetime, behind: timedelta) -> set[str]:
    dates, until = document.published, elsewhere_until - SHOWN_LATE
    return {
        id_
        for id_, entry in document.entries.items()
        if dates[id_] is None or is_older(dates[id_], entry.slack, added_at=until, behind=behind)
    }


def _long_out(document: Document, timing: Timing, moment: datetime) -> set[str]:
    settled = moment - timing.max_delay * MINUTE
    return {
        id_
        for id_, date in document.published.items()
        if date is not None and date < settled - document.entries[id_].slack
    }


def _see(
    plan: PollPlan, row: KnownItem, entry: Seen | None, timing: Timing, moment: datetime, *, partial: bool
) -> None:
    if row.state not in ("unassigned", "assigned"):
        return
    if row.vanished:
        # It may only be late.
        if entry is None or partial:
            return
        # Withdrawn and back means new. If it comes and goes, it is sent after the longest delay.
        plan.restart[row.pk] = row.id
        if row.held:
            return
        flickers = row.returns + 1 >= FLICKERS
        if flickers:
            plan.flicker.append(row.pk)
        since = row.first_seen if flickers else moment
        if timing.at_first_sight or is_final(
            timing, first_seen=since, stable_since=moment, moment=moment, changed=True
        ):
            plan.finalise.append(row.pk)
        return
    if row.set_aside and not partial:
        plan.take_back.append(row.pk)
    changed = entry is not None and entry.content_hash != row.content_hash
    if changed:
        plan.rewrite[row.pk] = row.id
    elif entry is not None:
        plan.steady += 1
        if row.changes:
            plan.calm.append(row.pk)
    if row.rolled_off and not (partial and row.state == "assigned"):
        plan.roll_back.append(row.pk)
    if row.state == "assigned":
        return
    if changed:
        plan.unsettle.append(row.pk)
    if partial:
        # The hub's copy has an unknown age, so items settle only at readings.
        return
    _confirm(plan, row, timing, moment, changed=changed)


def _confirm(plan: PollPlan, row: KnownItem, timing: Timing, moment: datetime, *, changed: bool) -> None:
    plan.confirm.append(row.pk)
    if row.final or row.held:
        return
    if is_final(
        timing, first_seen=row.first_seen, stable_since=row.stable_since, moment=moment, changed=changed
    ):
        plan.finalise.append(row.pk)


def _look_for_missing(
    plan: PollPlan,
    rows: Iterable[KnownItem],
    there: Collection[str],
    previous: Sequence[str],
    timing: Timing,
    moment: datetime,
    read_at: datetime | None,
) -> None:
    """Withdraw missing items if an older entry remains; others rolled off.

    `read_at` is given if entries are back that the previous document lacked. Items seen once, or in a
    document that shares nothing with this one, were then another feed's.
    """
    place = {id_: number for number, id_ in enumerate(previous)}
    oldest_there = max((number for id_, number in place.items() if id_ in there), default=-1)
    gone = [row for row in rows if row.id not in there]
    missing = [row for row in gone if row.waits or (row.state == "assigned" and not row.set_aside)]
    # A feed that invents ids brings ever more.
    held = sorted(row.pk for row in missing if row.held)
    coming = sum(insert.held for insert in plan.insert)
    too_many = set(held[: max(0, len(held) + coming - HELD_AT_MOST)]) if there else set()
    for row in missing:
        if row.pk in too_many:
            plan.drop.append(row.pk)
            continue
        was_anothers = (
            read_at is not None and row.id in place and (row.first_seen >= read_at or oldest_there < 0)
        )
        is_withdrawn = was_anothers or place.get(row.id, oldest_there) < oldest_there
        if row.state == "assigned":
            if is_withdrawn and not row.rolled_off:
                plan.set_aside.append(row.pk)
        elif is_withdrawn:
            plan.vanish.append(row.pk)
        else:
            if there and not row.rolled_off:
                plan.roll_off.append(row.pk)
            _confirm(plan, row, timing, moment, changed=False)


def _shows_others(document: Document, there: Collection[str], previous: Sequence[str]) -> bool:
    """Return whether posts leave without being withdrawn.

    The feed ranks posts, or as many others replaced many, or all but a pinned one. `previous` is empty if
    earlier posts are back.
    """
    if is_ranked(document.newest_first(), document.published):
        return True
    stayed = [place for place, id_ in enumerate(previous) if id_ in there]
    gone = max(stayed, default=-1) + 1 - len(stayed)
    is_full = len(document.order) >= len(previous)
    return bool(previous) and is_full and (len(stayed) <= 1 or gone > max(1, len(previous) // MANY_LEFT))


def _holds(plan: PollPlan, rows: Iterable[KnownItem]) -> bool:
    gone = {*plan.vanish, *plan.drop}
    waiting = (row for row in rows if row.held and row.state == "unassigned" and row.pk not in gone)
    return any(not row.vanished or row.pk in plan.restart for row in waiting) or any(
        insert.held for insert in plan.insert
    )
