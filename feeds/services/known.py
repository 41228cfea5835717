"""What we know of a feed's items when a document comes in."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from feeds.models import Feed, FeedDocument, Item
from feeds.rules.facts import Document, Known
from feeds.rules.reposts import REPOST, Former

T = TypeVar("T")

# SQLite takes at most 999 parameters for a statement.
CHUNK = 900
DIGEST_BYTES = 16
DONE = frozenset({Item.State.CLEARED, Item.State.EXCLUDED})
COLUMNS = ("pk", "guid_hash", "state", "content_hash", "first_seen", "stable_since")
MOMENTS = ("vanished_at", "rolled_off_at", "final_at", "held_at")


@dataclass(frozen=True, slots=True)
class Recorded:
    """Which of a document's ids have items: `done` will never change again, `open` (keys) may.

    `reposts` are those of `done` that were excluded as such; `formers` the items at the links of new ids
    and of reposts (`open` has the waiting and withdrawn ones of them too).
    """

    done: frozenset[str]
    open: tuple[int, ...]
    reposts: frozenset[str] = frozenset()
    formers: tuple[Former, ...] = ()


def recorded(feed: Feed, document: Document) -> Recorded:
    """Asked before the transaction, as it may be long: only polls make items, and the lease keeps others off.

    The states of open items are read again under their locks.
    """
    done: set[str] = set()
    reposts: set[str] = set()
    open_: dict[int, str] = {}
    for chunk in chunks(document.order):
        rows = Item.objects.filter(feed=feed, guid_hash__in=chunk).order_by()
        for pk, id_, state, reason in rows.values_list("pk", "guid_hash", "state", "reason").iterator():
            if state in DONE:
                done.add(id_)
            else:
                open_[pk] = id_
            if _is_repost(state, reason):
                reposts.add(id_)
    formers: list[Former] = []
    if feed.join_reposts and feed.first_polled_at is not None:
        known_ids = (done - reposts).union(open_.values())
        links = {link for id_, link in document.links.items() if id_ not in known_ids}
        for former, state in _formers(feed, sorted(links)):
            formers.append(former)
            if state == Item.State.UNASSIGNED:
                open_[former.pk] = former.id
    return Recorded(frozenset(done), tuple(open_), frozenset(reposts), tuple(formers))


def _formers(feed: Feed, links: Sequence[str]) -> Iterator[tuple[Former, str]]:
    for chunk in chunks(links):
        rows = Item.objects.filter(feed=feed, link_hash__in=chunk).exclude(link_hash="").order_by()
        for pk, id_, link, *why in rows.values_list("pk", "guid_hash", "link_hash", "state", "reason"):
            yield Former(pk, id_, link, _is_repost(*why)), why[0]


def _is_repost(state: str, reason: str) -> bool:
    return state == Item.State.EXCLUDED and reason == REPOST


def known(feed: Feed, pks: Iterable[int] = (), *, lock: bool) -> list[Known]:
    """These items and all that wait in the feed, in the order of their keys; with `lock`, locked."""
    waiting = Item.objects.unassigned().filter(feed=feed).order_by().values_list("pk", flat=True)
    return [row for chunk in chunks(sorted({*pks, *waiting})) for _, row in _rows(chunk, lock=lock)]


def known_waiting(feed_ids: Iterable[int], *, lock: bool = True) -> dict[int, list[Known]]:
    """What waits in each of these feeds (a feed in which nothing waits is left out).

    With `lock`, locked in the order of the items' keys: lock the feeds' rows first, in the order of theirs.
    """
    found: dict[int, list[Known]] = {}
    pks: list[int] = []
    for feeds in chunks(sorted(set(feed_ids))):
        pks += Item.objects.unassigned().filter(feed__in=feeds).order_by().values_list("pk", flat=True)
    for chunk in chunks(sorted(pks)):
        for feed_id, row in _rows(chunk, lock=lock):
            if row.waits:
                found.setdefault(feed_id, []).append(row)
    return found


def _rows(pks: Sequence[int], *, lock: bool) -> Iterator[tuple[int, Known]]:
    rows = Item.objects.filter(pk__in=pks).order_by("pk")
    if lock:
        rows = rows.select_for_update()
    for feed_id, changes, *values in rows.values_list("feed_id", "changes", *COLUMNS, *MOMENTS):
        pk, id_, state, hash_, first_seen, stable_since, *moments = values
        vanished, rolled_off, final, held = (moment is not None for moment in moments)
        row = Known(
            pk, id_, state, hash_, first_seen, stable_since, vanished, rolled_off, final, held, changes
        )
        yield feed_id, row


def packed(order: Iterable[str]) -> bytes:
    """A document's order as it is kept: 16 bytes for an id."""
    return b"".join(bytes.fromhex(id_)[:DIGEST_BYTES] for id_ in order)


def previous_order(feed: Feed, ids: Iterable[str]) -> list[str]:
    """The last document's order, newest first. It was kept shortened: of other ids only the beginnings."""
    document = FeedDocument.objects.filter(feed=feed).only("order").first()
    order = bytes(document.order).hex() if document else ""
    width = DIGEST_BYTES * 2
    by_short: Mapping[str, str] = {id_[:width]: id_ for id_ in ids}
    shorts = (order[at : at + width] for at in range(0, len(order), width))
    return [by_short.get(short, short) for short in shorts]


def chunks(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """The rows in pieces that fit into one statement."""
    return (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
