"""What we know of a feed's items when a document comes in."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from feeds.models import Feed, FeedDocument, Item
from feeds.rules.plan import Known

T = TypeVar("T")

# SQLite takes at most 999 parameters for a statement.
CHUNK = 900
DIGEST_BYTES = 16
DONE = frozenset({Item.State.CLEARED, Item.State.EXCLUDED})
COLUMNS = ("pk", "guid_hash", "state", "content_hash", "first_seen", "stable_since")
MOMENTS = ("vanished_at", "rolled_off_at", "final_at")


@dataclass(frozen=True, slots=True)
class Recorded:
    """Which of a document's ids have items: `done` will never change again, `open` (keys) may."""

    done: frozenset[str]
    open: tuple[int, ...]


def recorded(feed: Feed, ids: Sequence[str]) -> Recorded:
    """Asked before the transaction, as it may be long: only polls make items, and the lease keeps others off.

    The states of open items are read again under their locks.
    """
    done: set[str] = set()
    open_: list[int] = []
    for chunk in chunks(ids):
        rows = Item.objects.filter(feed=feed, guid_hash__in=chunk).order_by()
        for pk, id_, state in rows.values_list("pk", "guid_hash", "state").iterator():
            if state in DONE:
                done.add(id_)
            else:
                open_.append(pk)
    return Recorded(frozenset(done), tuple(open_))


def known(feed: Feed, pks: Iterable[int] = (), *, lock: bool) -> list[Known]:
    """These items and all that wait in the feed, in the order of their keys; with `lock`, locked."""
    waiting = Item.objects.unassigned().filter(feed=feed).order_by().values_list("pk", flat=True)
    return [row for chunk in chunks(sorted({*pks, *waiting})) for row in _rows(chunk, lock=lock)]


def _rows(pks: Sequence[int], *, lock: bool) -> Iterator[Known]:
    rows = Item.objects.filter(pk__in=pks).order_by("pk")
    if lock:
        rows = rows.select_for_update()
    for pk, id_, state, hash_, first_seen, stable_since, *moments in rows.values_list(*COLUMNS, *MOMENTS):
        vanished, rolled_off, final = (moment is not None for moment in moments)
        yield Known(pk, id_, state, hash_, first_seen, stable_since, vanished, rolled_off, final)


def packed(order: Iterable[str]) -> bytes:
    """A document's order as it is kept: 16 bytes for an id."""
    return b"".join(bytes.fromhex(id_)[:DIGEST_BYTES] for id_ in order)


def previous_order(feed: Feed, ids: Iterable[str]) -> list[str]:
    """The last document's order, newest first, of those ids only (it was kept shortened)."""
    document = FeedDocument.objects.filter(feed=feed).only("order").first()
    order = bytes(document.order).hex() if document else ""
    width = DIGEST_BYTES * 2
    by_short = {id_[:width]: id_ for id_ in ids}
    shorts = (order[at : at + width] for at in range(0, len(order), width))
    return [by_short[short] for short in shorts if short in by_short]


def chunks(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """The rows in pieces that fit into one statement."""
    return (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
