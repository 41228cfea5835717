"""Applying a reading to the items of a feed, under the lock of its row and of theirs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from feeds.models import Feed, FeedDocument, Item
from feeds.parsing.entry import Entry
from feeds.rules.finality import Timing
from feeds.rules.plan import Adding, Insert, Known, Plan, plan_document, plan_unchanged
from feeds.services.reading import Reading

CHUNK = 500
DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class PollCounts:
    new: int = 0
    changed: int = 0
    vanished: int = 0
    excluded: int = 0
    final: int = 0

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


def timing_of(feed: Feed) -> Timing:
    return Timing(feed.min_delay_minutes, feed.await_stabilization_minutes, feed.max_delay_minutes)


def store(feed: Feed, reading: Reading, moment: datetime) -> PollCounts:
    """Plans and applies, within the caller's transaction, which has locked the feed's row."""
    if reading.unchanged:
        plan = plan_unchanged(_waiting(feed), timing=timing_of(feed), moment=moment)
        FeedDocument.objects.filter(feed=feed).update(fetched_at=moment)
        return apply(feed, plan, reading, moment)
    known = _known(feed, reading)
    plan = plan_document(
        reading.document,
        known,
        previous=_previous(feed, known),
        timing=timing_of(feed),
        added_at=feed.added_at,
        adding=Adding(feed.start, feed.start_count) if feed.first_polled_at is None else None,
        moment=moment,
    )
    counts = apply(feed, plan, reading, moment)
    _keep_document(feed, reading, moment)
    _describe(feed, reading)
    return counts


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


def _known(feed: Feed, reading: Reading) -> list[Known]:
    """The rows that the document names and those still waiting, locked in the order of their keys."""
    pks = set(Item.objects.unassigned().filter(feed=feed).values_list("pk", flat=True))
    ids = list(reading.document.order)
    for start in range(0, len(ids), CHUNK):
        rows = Item.objects.filter(feed=feed, guid_hash__in=ids[start : start + CHUNK])
        pks.update(rows.values_list("pk", flat=True))
    return _locked(sorted(pks))


def _waiting(feed: Feed) -> list[Known]:
    return _locked(list(Item.objects.unassigned().filter(feed=feed).values_list("pk", flat=True)))


def _locked(pks: Sequence[int]) -> list[Known]:
    known: list[Known] = []
    for start in range(0, len(pks), CHUNK):
        rows = Item.objects.filter(pk__in=pks[start : start + CHUNK]).order_by("pk")
        known += [
            Known(
                pk=row.pk,
                id=row.guid_hash,
                state=row.state,
                content_hash=row.content_hash,
                first_seen=row.first_seen,
                stable_since=row.stable_since,
                vanished=row.vanished_at is not None,
                rolled_off=row.rolled_off_at is not None,
                final=row.final_at is not None,
            )
            for row in rows.select_for_update().defer("entry")
        ]
    return known


def _previous(feed: Feed, known: Sequence[Known]) -> list[str]:
    """The last document's order as the ids we know of it (it was kept as shortened digests)."""
    document = FeedDocument.objects.filter(feed=feed).only("order").first()
    if document is None:
        return []
    order = bytes(document.order)
    by_short = {row.id[: DIGEST_BYTES * 2]: row.id for row in known}
    shorts = (order[at : at + DIGEST_BYTES].hex() for at in range(0, len(order), DIGEST_BYTES))
    return [by_short[short] for short in shorts if short in by_short]


def _insert(feed: Feed, inserts: Sequence[Insert], reading: Reading, moment: datetime) -> None:
    rows = [
        Item(
            feed=feed,
            guid=reading.guids[insert.id],
            guid_hash=insert.id,
            first_seen=moment,
            stable_since=moment,
            last_checked=moment,
            final_at=moment if insert.final else None,
            **(_identity(reading, insert) if insert.excluded else _content(reading, insert.id)),
        )
        for insert in inserts
    ]
    Item.objects.bulk_create(rows, batch_size=CHUNK)


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
    for start in range(0, len(pks), CHUNK):
        Item.objects.filter(pk__in=pks[start : start + CHUNK]).update(**values)


def _keep_document(feed: Feed, reading: Reading, moment: datetime) -> None:
    document = {
        "body": reading.compressed,
        "headers": {**reading.headers, "url": reading.url},
        "sha256": reading.sha256,
        "fetched_at": moment,
    }
    if reading.guids:  # a document without entries withdraws nothing: the order before it stays
        document["order"] = b"".join(
            bytes.fromhex(id_)[:DIGEST_BYTES] for id_ in reading.document.newest_first()
        )
    FeedDocument.objects.update_or_create(
        feed=feed, defaults=document, create_defaults={"order": b"", **document}
    )


def _describe(feed: Feed, reading: Reading) -> None:
    assert reading.parsed is not None  # noqa: S101 - only for parsed documents
    feed.title = feed.title or reading.parsed.title
    feed.site_url = reading.parsed.link or feed.site_url
    feed.language = reading.parsed.language[:35] or feed.language
    feed.warning = "\n".join(reading.parsed.warnings[:20])
