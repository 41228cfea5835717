"""Applying a reading to the items of a feed, under the lock of its row and of theirs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F

from feeds.models import Feed, Item
from feeds.parsing import expense
from feeds.parsing.entry import Entry, ParseError
from feeds.polling.describe import describe, keep_answer, keep_document, keep_order
from feeds.polling.known_items import Recorded, chunks, known, previous_order, recorded, shorts
from feeds.polling.namesakes import leave_before, tell_apart
from feeds.polling.read import Reading, ReadingFailed
from feeds.rules.facts import Adding, Insert, PollPlan
from feeds.rules.finality import LEFT_WHILE_HELD
from feeds.rules.plan import OLDER, plan_document, plan_unchanged
from feeds.rules.reposts import REPOST

BATCH = 500
# What an excluded item loses.
DROPPED = {
    "state": Item.State.EXCLUDED,
    "entry": None,
    "content_hash": "",
    "final_at": None,
    "vanished_at": None,
    "rolled_off_at": None,
    "held_at": None,
}


@dataclass(frozen=True, slots=True)
class PollCounts:
    """Counts of items. `held` are some of the new ones.

    `deferred` are new posts in a push, perhaps under a second id, that only the next reading can judge.
    """

    new: int = 0
    changed: int = 0
    vanished: int = 0
    held: int = 0
    excluded: int = 0
    final: int = 0
    deferred: int = 0


def prepare(feed: Feed, reading: Reading, moment: datetime) -> Recorded | None:
    """What may be done before the transaction: compare, compress, and clean what will probably be written.

    The plan made here is thrown away; the one that counts is made under the locks. Raises ReadingFailed when
    that costs too much.
    """
    if reading.unchanged:
        return None
    try:
        with expense.allowance():
            rows = look_up(feed, reading)
            plan = plan_of(feed, reading, rows, moment, lock=False)
            written = [insert.id for insert in plan.insert if not insert.excluded]
            for id_ in (*written, *plan.rewrite.values(), *plan.restart.values(), *plan.rekey.values()):
                reading.cleaned(id_)
                expense.check()
    except ParseError as error:
        raise ReadingFailed(str(error), fetched=reading.fetched) from error
    if not reading.partial:
        _ = reading.compressed
    return rows


def store(feed: Feed, reading: Reading, moment: datetime, rows: Recorded | None = None) -> PollCounts:
    """Plans and applies, within the caller's transaction, which has locked the feed's row.

    `rows` is what `prepare` returned; without it the question is asked here. Changes fields of `feed`,
    unsaved. A push to a feed that was never read is passed over: what it holds tells nothing of the rest.
    """
    if reading.unchanged:
        plan = plan_unchanged(known(feed, lock=True), timing=feed.timing, moment=moment)
        keep_answer(feed, reading, moment)
        return apply(feed, plan, reading, moment)
    if reading.partial and feed.first_polled_at is None:
        return PollCounts()
    rows = rows or look_up(feed, reading)
    plan = plan_of(feed, reading, rows, moment, lock=True)
    counts = apply(feed, plan, reading, moment)
    leave_before(feed, reading, moment)
    feed.held_since = (feed.held_since or moment) if plan.holds else None
    if reading.partial:
        keep_order(feed, reading, plan)
    else:
        keep_document(feed, reading, moment)
        left_out = rows.older.union(insert.id for insert in plan.insert if insert.excluded == OLDER)
        describe(feed, reading, plan, moment, left_out=left_out)
    return counts


def look_up(feed: Feed, reading: Reading) -> Recorded:
    """What is known of a reading's posts, once they have the names that they have in this feed."""
    tell_apart(feed, reading)
    return recorded(feed, reading.document, reading.before)


def plan_of(feed: Feed, reading: Reading, rows: Recorded, moment: datetime, *, lock: bool) -> PollPlan:
    """What the reading means for the feed's items as they stand; with `lock`, under their locks."""
    items = known(feed, rows.open, lock=lock)
    adding = Adding(feed.start, feed.start_count) if feed.first_polled_at is None else None
    # After a change of address the feed was read before: what has come since then is new.
    seen_through = feed.fetched_through if adding else None
    ids = {former.id for former in rows.formers}.union(reading.document.order, (item.id for item in items))
    return plan_document(
        reading.document,
        items,
        done=rows.done,
        reposts=rows.reposts,
        formers=rows.formers,
        # In front, where they move no other post's place.
        previous=(*reading.before, *previous_order(shorts(feed) if lock else rows.order, ids)),
        timing=feed.timing,
        added_at=max(feed.added_at, seen_through or feed.added_at),
        adding=adding,
        moment=moment,
        read_at=feed.fetched_through,
        behind=reading.behind(moment),
        join=feed.join_reposts,
        hold_floods=feed.hold_floods,
        hold_new=feed.hold_next,
        partial=reading.partial,
    )


def settle_last(feed: Feed, moment: datetime) -> int:
    """Of a feed that is gone: what had stayed the same for long enough is sent, as nothing withdrew it."""
    stable = F("last_checked") - timedelta(minutes=feed.await_stabilization_minutes)
    rows = Item.objects.settling().filter(feed=feed, stable_since__lte=stable)
    return rows.update(final_at=moment)


def apply(feed: Feed, plan: PollPlan, reading: Reading, moment: datetime) -> PollCounts:
    """Writes the plan: one statement for each kind of change, one row at a time only for new content."""
    _rekey(feed, plan, reading, moment)
    _insert(feed, plan, reading, moment)
    # A push tells of what changes only: it says nothing of how often.
    streak = {} if reading.partial else {"changes": F("changes") + 1}
    for pk, id_ in plan.rewrite.items():
        Item.objects.filter(pk=pk).update(**_content(reading, id_), **streak, last_checked=moment)
    for pk, id_ in plan.restart.items():
        Item.objects.filter(pk=pk).update(
            **_content(reading, id_),
            **({} if pk in plan.flicker else {"first_seen": moment}),
            returns=F("returns") + 1,
            stable_since=moment,
            last_checked=moment,
            final_at=None,
            vanished_at=None,
            rolled_off_at=None,
            changes=0,
        )
    _update(plan.unsettle, stable_since=moment)
    _update(plan.calm, changes=0)
    _update(plan.confirm, last_checked=moment)
    _update(plan.roll_back, rolled_off_at=None)
    _update(plan.roll_off, rolled_off_at=moment)
    _update(plan.finalise, final_at=moment)
    _update(plan.vanish, vanished_at=moment, final_at=None)
    _update(plan.drop, **DROPPED, reason=LEFT_WHILE_HELD)
    _forget(plan.forget)
    excluded = sum(bool(insert.excluded) for insert in plan.insert)
    return PollCounts(
        new=len(plan.insert) - excluded + len(plan.restart),
        changed=len(plan.rewrite),
        vanished=len(plan.vanish),
        held=sum(insert.held for insert in plan.insert),
        excluded=excluded + len(plan.drop),
        final=len(plan.finalise) + sum(insert.final for insert in plan.insert),
        deferred=len(plan.deferred),
    )


def _rekey(feed: Feed, plan: PollPlan, reading: Reading, moment: datetime) -> None:
    """Gives waiting items their new ids. The old ones stay behind, excluded: they never come new again."""
    if not plan.rekey:
        return
    before = list(Item.objects.filter(pk__in=plan.rekey).order_by("pk").defer("entry"))
    # An id that it had before: its row gives way.
    for chunk in chunks(list(plan.rekey.values())):
        Item.objects.filter(feed=feed, guid_hash__in=chunk, state="excluded", reason=REPOST).delete()
    for pk, id_ in plan.rekey.items():
        Item.objects.filter(pk=pk).update(
            guid=reading.guids[id_], guid_hash=id_, **_content(reading, id_), last_checked=moment
        )
    Item.objects.bulk_create(_left_behind(item, moment) for item in before)


def _left_behind(item: Item, moment: datetime) -> Item:
    return Item(
        feed_id=item.feed_id,
        guid=item.guid,
        guid_hash=item.guid_hash,
        title=item.title,
        link=item.link,
        link_hash=item.link_hash,
        published_at=item.published_at,
        state=Item.State.EXCLUDED,
        reason=REPOST,
        first_seen=item.first_seen,
        stable_since=item.stable_since,
        last_checked=moment,
    )


def _insert(feed: Feed, plan: PollPlan, reading: Reading, moment: datetime) -> None:
    for start in range(0, len(plan.insert), BATCH):
        rows = [_item(feed, insert, reading, moment) for insert in plan.insert[start : start + BATCH]]
        for row in rows:
            if row.held_at:
                row.reason = plan.held_for
        Item.objects.bulk_create(rows)


def _item(feed: Feed, insert: Insert, reading: Reading, moment: datetime) -> Item:
    return Item(
        feed=feed,
        guid=reading.guids[insert.id],
        guid_hash=insert.id,
        first_seen=moment,
        stable_since=moment,
        last_checked=moment,
        final_at=moment if insert.final else None,
        held_at=moment if insert.held else None,
        **(_identity(reading, insert) if insert.excluded else _content(reading, insert.id)),
    )


def _identity(reading: Reading, insert: Insert) -> dict[str, Any]:
    """What an excluded item keeps: enough to recognise it, no content."""
    entry = reading.entries.get(insert.id)
    return {
        "state": Item.State.EXCLUDED,
        "reason": insert.excluded,
        **(_heading(reading, insert.id, entry) if entry else {}),
    }


def _content(reading: Reading, id_: str) -> dict[str, Any]:
    entry = reading.cleaned(id_)
    return {
        **_heading(reading, id_, entry),
        "content_hash": reading.document.entries[id_].content_hash,
        "entry": entry.to_json(),
    }


def _heading(reading: Reading, id_: str, entry: Entry) -> dict[str, Any]:
    return {
        "title": entry.title,
        "link": entry.link,
        "link_hash": reading.document.entries[id_].link,
        "published_at": entry.published,
    }


def _update(pks: Sequence[int], **values: Any) -> None:
    for chunk in chunks(pks):
        Item.objects.filter(pk__in=chunk).update(**values)


def _forget(pks: Sequence[int]) -> None:
    for chunk in chunks(pks):
        Item.objects.filter(pk__in=chunk, state=Item.State.EXCLUDED, reason=REPOST).delete()
