"""Plans changes of items. Pure; called under the lock that applies them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from feeds.rules.facts import (
    BEYOND,
    Delays,
    Document,
    FeedRow,
    Insert,
    ItemRow,
    Known,
    PollPlan,
    Seen,
    at_the_new_end,
    is_newer,
    is_older,
    is_ranked,
    newest_ids,
)
from feeds.rules.finality import (
    HELD_AT_MOST,
    MINUTE,
    RESTORED,
    SENT_ELSEWHERE,
    SHOWN_LATE,
    at_first_sight,
    follows_on,
    is_batch_like_before,
    is_final,
    is_flood,
    is_mostly_older,
)
from feeds.rules.reposts import (
    REPOST,
    corrected,
    habitual,
    is_repost,
    only_read,
    outdated,
    reposted,
    returning,
    suspects,
)

OLDER = "older than the feed's adding"
THERE_BEFORE = "was in the feed when it was added"
NAMESAKE = "shared its id with another post, which counted"
# One or two posts are easily all new.
ENOUGH_TO_TELL = 3
# If more than one in four left a document of the same length, it shows others.
MANY_LEFT = 4
# Then the clock continues: perhaps two caches answer in turn.
FLICKERS = 2


def plan_document(
    document: Document,
    known: Known,
    feed: FeedRow,
    *,
    moment: datetime,
    behind: timedelta = timedelta(0),
    partial: bool = False,
) -> PollPlan:
    """Return the plan for a document requested at `moment`.

    `behind`: lag of the server's clock. `partial`: pushed; missing posts mean nothing.
    """
    plan = PollPlan()
    rows = {row.guid_hash: row for row in known.items}
    done, previous = known.done, known.order
    is_first, read_at = feed.first_polled_at is None, feed.fetched_through
    told = {id_ for id_, row in rows.items() if read_at is None or row.first_seen <= read_at}.union(done)
    may_move = not (partial or document.is_complete)
    moved = may_move and bool(document.order) and told.isdisjoint(document.order)
    twins = _recognise(
        plan,
        rows,
        document,
        known,
        join=feed.join_reposts and not is_first,
        moment=moment,
        moved=moved,
        partial=partial,
    )
    plan.came_back = tuple(former.guid_hash for former in twins.values())
    unwanted = _unwanted(document, feed, told.union(twins), behind=behind, moment=moment)
    long_out = _long_out(document, feed, moment) if is_first else set()
    for id_ in reversed(document.newest_first()):
        row = rows.get(id_)
        if row is not None:
            _see(plan, row, id_, document.entries.get(id_), feed, moment, partial=partial)
        elif id_ not in done and id_ not in plan.deferred:
            why_not = REPOST if id_ in twins else unwanted.get(id_, "")
            settled = at_first_sight(feed) or id_ in long_out
            plan.insert.append(Insert(id_, excluded=why_not, final=settled and not why_not))
    plan.all_unknown = moved and min(len(document.order), len(previous)) >= ENOUGH_TO_TELL
    before = set(previous) if moved and not is_first and plan.insert else set()
    formers_before = [former for former in known.formers if former.guid_hash in before]
    shown = len(previous)
    goes_on = bool(before) and follows_on(document, formers_before, shown_before=shown, read_at=read_at)
    plan.stranger = bool(before) and not twins and not goes_on
    if feed.for_letters:
        usual = goes_on and is_batch_like_before(document, formers_before, shown_before=shown)
        _hold(plan, document, formers_before, feed, behind=behind, usual=usual)
    if partial:
        plan.calm.clear()
    else:
        there = {*document.order, *plan.came_back}
        returned = told.intersection(document.order).difference(previous, known.reposts)
        since = read_at if returned else None
        _look_for_missing(plan, rows, there, previous, feed, moment, since, all_there=document.is_complete)
        former = () if returned else previous
        if plan.set_aside and not document.is_complete and _shows_others(document, there, former):
            plan.set_aside.clear()
    plan.holds = _holds(plan, rows.values())
    return plan if feed.for_letters else only_read(plan)


def _hold(
    plan: PollPlan,
    document: Document,
    formers_before: Collection[ItemRow],
    feed: FeedRow,
    *,
    behind: timedelta,
    usual: bool,
) -> None:
    """Hold floods, what is new after a restore, and what another program may have sent.

    After an admin sent a flood, hold only unknown, mostly older documents.
    """
    # Another program may have left those out.
    elsewhere_until = feed.read_elsewhere_until
    counted = [insert for insert in plan.insert if elsewhere_until is None or not insert.excluded]
    new = sum(insert.excluded != REPOST for insert in counted)
    floods = plan.stranger or (is_flood(new, len(document.order)) and not usual)
    if feed.floods_sent_at is not None:
        floods = plan.stranger and is_mostly_older(document, formers_before)
    floods = floods and feed.hold_floods and feed.first_polled_at is not None
    doubtful = _doubtful(document, elsewhere_until, behind) if elsewhere_until else set()
    if feed.hold_next or floods or doubtful:
        plan.insert = [
            replace(insert, held=True, final=False)
            if not insert.excluded and (feed.hold_next or floods or insert.id in doubtful)
            else insert
            for insert in plan.insert
        ]
        plan.held_for = RESTORED if feed.hold_next else SENT_ELSEWHERE if doubtful else ""


def plan_unchanged(known: Known, feed: FeedRow, *, moment: datetime) -> PollPlan:
    """Plan a 304 or an identical body."""
    plan = PollPlan()
    rows = [row for row in known.items if row.waits]
    for row in rows:
        _confirm(plan, row, feed, moment, changed=False)
    plan.holds = _holds(plan, rows)
    return plan


def _recognise(
    plan: PollPlan,
    rows: dict[str, ItemRow],
    document: Document,
    known: Known,
    *,
    join: bool,
    moment: datetime,
    moved: bool,
    partial: bool,
) -> dict[str, ItemRow]:
    twins: dict[str, ItemRow] = {}
    done, reposts, formers, there = known.done, known.reposts, known.formers, set(document.order)
    if join and formers:
        dates = document.published
        entries = {id_: replace(entry, published=dates[id_]) for id_, entry in document.entries.items()}
        twins = reposted(
            [id_ for id_ in document.order if id_ not in rows and (id_ not in done or id_ in reposts)],
            formers,
            entries=entries,
            there=there,
            previous=set(known.order),
            moved=moved,
        )
        if not moved:
            recognised = {former.guid_hash for former in twins.values()}
            suspected = suspects(
                [id_ for id_ in entries if id_ not in rows and id_ not in done and id_ not in twins],
                [former for former in formers if former.guid_hash not in recognised],
                entries=entries,
                order=document.newest_first(),
                previous=known.order,
                recognised=recognised,
                moment=moment,
                partial=partial,
            )
            twins |= corrected(suspected, known.similarities)
    if partial:
        plan.deferred = tuple(twins)
        return twins
    # Ids left behind that are back, or replace such an id.
    left = {*reposts, *(id_ for id_, former in twins.items() if is_repost(former))}
    if back := [id_ for id_ in document.order if id_ in left and id_ not in rows]:
        waiting = {id_ for id_, row in rows.items() if row.state == "unassigned"}
        twins |= returning(back, formers, links=document.links, there=there, waiting=waiting)
    # So nothing is lost.
    for id_, former in twins.items():
        row = rows.get(former.guid_hash)
        if row is not None and row.state == "unassigned":
            plan.rekey[row.pk] = id_
            rows[id_] = rows.pop(former.guid_hash)
    plan.reposts = len(twins)
    plan.habitual = habitual(formers, list(twins.values()))
    plan.forget = outdated(formers, list(twins.values()), keep=there)
    return twins


def _unwanted(
    document: Document, feed: FeedRow, told: Collection[str], *, behind: timedelta, moment: datetime
) -> dict[str, str]:
    """Return new ids that must not be sent, with reasons.

    At the adding, posts since then are always sent.
    """
    dates = document.published
    if feed.first_polled_at is not None:
        new = at_the_new_end(document.newest_first(), dates, told, moment)
        old = {
            id_
            for id_, entry in document.entries.items()
            if is_older(dates[id_], entry.slack, added_at=feed.added_at, behind=behind, at_new_end=id_ in new)
        }
        beyond = (id_ for id_ in document.order if id_ not in document.entries)
        return {**dict.fromkeys(beyond, BEYOND), **dict.fromkeys(old, OLDER)}
    # After a change of address, later posts are new.
    added_at = max(feed.added_at, feed.fetched_through or feed.added_at)
    wanted = {
        id_
        for id_, entry in document.entries.items()
        if feed.start == "all"
        or is_newer(dates[id_], entry.slack, since=added_at, until=moment, behind=behind)
    }
    if feed.start == "last":
        in_full = [id_ for id_ in document.order if id_ in document.entries]
        wanted |= newest_ids(in_full, dates, feed.start_count)
    return {id_: THERE_BEFORE for id_ in document.order if id_ not in wanted}


def _doubtful(document: Document, elsewhere_until: datetime, behind: timedelta) -> set[str]:
    dates, until = document.published, elsewhere_until - SHOWN_LATE
    return {
        id_
        for id_, entry in document.entries.items()
        if dates[id_] is None or is_older(dates[id_], entry.slack, added_at=until, behind=behind)
    }


def _long_out(document: Document, delays: Delays, moment: datetime) -> set[str]:
    settled = moment - delays.max_delay_minutes * MINUTE
    return {
        id_
        for id_, date in document.published.items()
        if date is not None and date < settled - document.entries[id_].slack
    }


def _see(
    plan: PollPlan,
    row: ItemRow,
    id_: str,
    entry: Seen | None,
    feed: FeedRow,
    moment: datetime,
    *,
    partial: bool,
) -> None:
    if row.state not in ("unassigned", "assigned"):
        return
    if row.vanished_at:
        # It may only be late.
        if entry is None or partial:
            return
        # Withdrawn and back means new. If it comes and goes, it is sent after the longest delay.
        plan.restart[row.pk] = id_
        if row.held_at:
            return
        flickers = row.returns + 1 >= FLICKERS
        if flickers:
            plan.flicker.append(row.pk)
        since = row.first_seen if flickers else moment
        if at_first_sight(feed) or is_final(
            feed, first_seen=since, stable_since=moment, moment=moment, changed=True
        ):
            plan.finalise.append(row.pk)
        return
    if row.set_aside_at and not partial:
        plan.take_back.append(row.pk)
    changed = entry is not None and entry.content_hash != row.content_hash
    if changed:
        plan.rewrite[row.pk] = id_
    elif entry is not None:
        plan.steady += 1
        if row.changes:
            plan.calm.append(row.pk)
    if row.rolled_off_at and not (partial and row.state == "assigned"):
        plan.roll_back.append(row.pk)
    if row.state == "assigned":
        return
    if changed:
        plan.unsettle.append(row.pk)
    if partial:
        # The hub's copy has an unknown age, so items settle only at readings.
        return
    _confirm(plan, row, feed, moment, changed=changed)


def _confirm(plan: PollPlan, row: ItemRow, delays: Delays, moment: datetime, *, changed: bool) -> None:
    plan.confirm.append(row.pk)
    if row.final_at or row.held_at:
        return
    if is_final(
        delays, first_seen=row.first_seen, stable_since=row.stable_since, moment=moment, changed=changed
    ):
        plan.finalise.append(row.pk)


def _look_for_missing(
    plan: PollPlan,
    rows: Mapping[str, ItemRow],
    there: Collection[str],
    previous: Sequence[str],
    feed: FeedRow,
    moment: datetime,
    read_at: datetime | None,
    *,
    all_there: bool,
) -> None:
    """Withdraw missing items if an older entry remains, or with `all_there`; others rolled off.

    `read_at` is given if entries are back that the previous document lacked. Items seen once, or in a
    document that shares nothing with this one, were then another feed's.
    """
    place = {id_: number for number, id_ in enumerate(previous)}
    oldest_there = max((number for id_, number in place.items() if id_ in there), default=-1)
    gone = {id_: row for id_, row in rows.items() if id_ not in there}
    missing = {
        id_: row
        for id_, row in gone.items()
        if row.waits or (row.state == "assigned" and not row.set_aside_at)
    }
    # A feed that invents ids brings ever more.
    held = sorted(row.pk for row in missing.values() if row.held_at)
    coming = sum(insert.held for insert in plan.insert)
    too_many = set(held[: max(0, len(held) + coming - HELD_AT_MOST)]) if there else set()
    for id_, row in missing.items():
        if row.pk in too_many:
            plan.drop.append(row.pk)
            continue
        was_anothers = (
            read_at is not None and id_ in place and (row.first_seen >= read_at or oldest_there < 0)
        )
        is_withdrawn = all_there or was_anothers or place.get(id_, oldest_there) < oldest_there
        if row.state == "assigned":
            if is_withdrawn and not row.rolled_off_at:
                plan.set_aside.append(row.pk)
        elif is_withdrawn:
            plan.vanish.append(row.pk)
        else:
            if there and not row.rolled_off_at:
                plan.roll_off.append(row.pk)
            _confirm(plan, row, feed, moment, changed=False)


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


def _holds(plan: PollPlan, rows: Iterable[ItemRow]) -> bool:
    gone = {*plan.vanish, *plan.drop}
    waiting = (row for row in rows if row.held_at and row.state == "unassigned" and row.pk not in gone)
    return any(not row.vanished_at or row.pk in plan.restart for row in waiting) or any(
        insert.held for insert in plan.insert
    )
