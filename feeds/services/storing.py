"""Applying a reading to the items of a feed, under the lock of its row and of theirs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from feeds.models import Feed, FeedDocument, Item
from feeds.parsing.entry import Entry
from feeds.rules.finality import Timing
from feeds.rules.plan import Adding, Insert, Plan, plan_document, plan_unchanged
from feeds.services.known import Recorded, chunks, known, packed, previous_order, recorded
from feeds.services.reading import Reading

MAX_WARNINGS = 20
BATCH = 500


@dataclass(frozen=True, slots=True)
class PollCounts:
    new: int = 0
    changed: int = 0
    vanished: int = 0
    excluded: int = 0
    final: int = 0


def timing_of(feed: Feed) -> Timing:
    return Timing(feed.min_delay_minutes, feed.await_stabilization_minutes, feed.max_delay_minutes)


def prepare(feed: Feed, reading: Reading, moment: datetime) -> Recorded | None:
    """What may be done before the transaction: compare, compress, and clean what will probably be written.

    The plan made here is thrown away; the one that counts is made under the locks.
    """
    if reading.unchanged:
        return None
    rows = recorded(feed, reading.document.order)
    plan = _plan(feed, reading, rows, moment, lock=False)
    written = [insert.id for insert in plan.insert if not insert.excluded]
    for id_ in (*written, *plan.rewrite.values(), *plan.restart.values()):
        reading.cleaned(id_)
    _ = reading.compressed
    return rows


def store(feed: Feed, reading: Reading, moment: datetime, rows: Recorded | None = None) -> PollCounts:
    """Plans and applies, within the caller's transaction, which has locked the feed's row.

    `rows` is what `prepare` returned; without it the question is asked here.
    """
    if reading.unchanged:
        plan = plan_unchanged(known(feed, lock=True), timing=timing_of(feed), moment=moment)
        headers = {**reading.headers, "url": reading.url}
        FeedDocument.objects.filter(feed=feed).update(fetched_at=moment, headers=headers)
        return apply(feed, plan, reading, moment)
    rows = rows or recorded(feed, reading.document.order)
    counts = apply(feed, _plan(feed, reading, rows, moment, lock=True), reading, moment)
    _keep_document(feed, reading, moment)
    _describe(feed, reading)
    return counts


def _plan(feed: Feed, reading: Reading, rows: Recorded, moment: datetime, *, lock: bool) -> Plan:
    items = known(feed, rows.open, lock=lock)
    return plan_document(
        reading.document,
        items,
        done=rows.done,
        previous=previous_order(feed, {*reading.document.order, *(item.id for item in items)}),
        timing=timing_of(feed),
        added_at=feed.added_at,
        adding=Adding(feed.start, feed.start_count) if feed.first_polled_at is None else None,
        moment=moment,
    )


def apply(feed: Feed, plan: Plan, reading: Reading, moment: datetime) -> PollCounts:
    """Writes the plan: one statement for each kind of change, one row at a time only for new content."""
    _insert(feed, plan.insert, reading, moment)
    for pk, id_ in plan.rewrite.items():
        Item.objects.filter(pk=pk).update(**_content(reading, id_), last_checked=moment)
    for pk, id_ in plan.restart.items():
        Item.objects.filter(pk=pk).update(
            **_content(reading, id_),
            first_seen=moment,
            stable_since=moment,
            last_checked=moment,
            final_at=None,
            vanished_at=None,
            rolled_off_at=None,
        )
    _update(plan.unsettle, stable_since=moment)
    _update(plan.confirm, last_checked=moment)
    _update(plan.roll_back, rolled_off_at=None)
    _update(plan.roll_off, rolled_off_at=moment)
    _update(plan.finalise, final_at=moment)
    _update(plan.vanish, vanished_at=moment, final_at=None)
    excluded = sum(bool(insert.excluded) for insert in plan.insert)
    return PollCounts(
        new=len(plan.insert) - excluded + len(plan.restart),
        changed=len(plan.rewrite),
        vanished=len(plan.vanish),
        excluded=excluded,
        final=len(plan.finalise) + sum(insert.final for insert in plan.insert),
    )


def _insert(feed: Feed, inserts: Sequence[Insert], reading: Reading, moment: datetime) -> None:
    for start in range(0, len(inserts), BATCH):
        rows = [_item(feed, insert, reading, moment) for insert in inserts[start : start + BATCH]]
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
        **(_identity(reading, insert) if insert.excluded else _content(reading, insert.id)),
    )


def _identity(reading: Reading, insert: Insert) -> dict[str, Any]:
    """What an excluded item keeps: enough to recognise it, no content."""
    entry = reading.entries.get(insert.id)
    return {
        "state": Item.State.EXCLUDED,
        "reason": insert.excluded,
        **(_heading(entry) if entry else {}),
    }


def _content(reading: Reading, id_: str) -> dict[str, Any]:
    entry = reading.cleaned(id_)
    return {
        **_heading(entry),
        "content_hash": reading.document.entries[id_].content_hash,
        "entry": entry.to_json(),
    }


def _heading(entry: Entry) -> dict[str, Any]:
    return {"title": entry.title, "link": entry.link, "published_at": entry.published}


def _update(pks: Sequence[int], **values: Any) -> None:
    for chunk in chunks(pks):
        Item.objects.filter(pk__in=chunk).update(**values)


def _keep_document(feed: Feed, reading: Reading, moment: datetime) -> None:
    document = {
        "body": reading.compressed,
        "headers": {**reading.headers, "url": reading.url},
        "sha256": reading.sha256,
        "fetched_at": moment,
    }
    if reading.guids:  # a document without entries withdraws nothing: the order before it stays
        document["order"] = packed(reading.document.newest_first())
    FeedDocument.objects.update_or_create(
        feed=feed, defaults=document, create_defaults={"order": b"", **document}
    )


def _describe(feed: Feed, reading: Reading) -> None:
    assert reading.parsed is not None  # noqa: S101 - only for parsed documents
    feed.title = feed.title or reading.parsed.title
    feed.site_url = reading.parsed.link or feed.site_url
    feed.language = reading.parsed.language[:35] or feed.language
    feed.warning = "\n".join(reading.parsed.warnings[:MAX_WARNINGS])
