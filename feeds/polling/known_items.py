import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TypeVar

from django.db.models import Q

from common.db.bulk import batched
from feeds.models import Feed, FeedDocument, Item
from feeds.models.item import ItemQuerySet
from feeds.parsing.document import MAX_ENTRIES, parse
from feeds.parsing.duplicate_guids import told_apart
from feeds.parsing.entry import ParsedFeed, ParseError
from feeds.parsing.likeness import likeness
from feeds.rules.facts import Document, KnownItem
from feeds.rules.plan import OLDER
from feeds.rules.reposts import REPOST, Former, Suspect, suspects

# In FeedDocument.channel, for feeds.parsing.duplicate_guids.
HOLDERS = "holders"


def kept_feed(document: FeedDocument, *, limit: int = MAX_ENTRIES) -> ParsedFeed | None:
    """Parse with its items' guids. Returns None if it cannot be read."""
    headers = document.headers
    try:
        body = zlib.decompress(bytes(document.body))
        parsed = parse(
            body, content_type=headers.get("content-type", ""), url=headers.get("url", ""), limit=limit
        )
    except (ParseError, zlib.error):
        return None
    return told_apart(parsed, holders_of(document))


def holders_of(document: FeedDocument) -> Mapping[str, str]:
    return dict(document.channel.get(HOLDERS) or {})


T = TypeVar("T")

# SQLite takes at most 999 parameters for a statement.
ROWS_A_STATEMENT = 900
DIGEST_BYTES = 16
# Missing posts of the last document that are looked up.
LEFT_AT_MOST = 1_000
RANGES = 100
OPEN = frozenset({Item.State.UNASSIGNED, Item.State.ASSIGNED})
DONE = frozenset({Item.State.CLEARED, Item.State.EXCLUDED})
COLUMNS = ("pk", "guid_hash", "state", "content_hash", "first_seen", "stable_since")
COUNTS = ("changes", "returns")
MOMENTS = ("vanished_at", "rolled_off_at", "final_at", "held_at", "set_aside_at")


@dataclass(frozen=True, slots=True)
class Recorded:
    """Items of a document's ids. Those in `done` will not change, `open` (keys) may.

    `reposts` and `older`: ids in `done` excluded for these reasons. `formers`: items that may have come back
    under a new id; also in `open` if they may change. `order`: of the last document.
    """

    done: frozenset[str]
    open: tuple[int, ...]
    reposts: frozenset[str] = frozenset()
    formers: tuple[Former, ...] = ()
    order: tuple[str, ...] = ()
    older: frozenset[str] = frozenset()
    # (new id, id of a post that left) → 0 to 1.
    similarities: Mapping[tuple[str, str], float] = field(default_factory=dict)


def recorded(
    feed: Feed, document: Document, before: Collection[str] = (), *, partial: bool = False
) -> Recorded:
    """Look up a document's items. Slow, so call it before the transaction.

    The lease keeps other polls off; open items are read again under locks. `before`: ids to exclude.
    """
    done: set[str] = set(before)
    reposts: set[str] = set()
    older: set[str] = set()
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
            elif reason == OLDER:
                older.add(id_)
    order = shorts(feed)
    formers: dict[int, Former] = {}
    known_ids = (done - reposts).union(row for row in open_.values())
    candidates = [id_ for id_ in document.entries if id_ not in known_ids]
    if candidates and feed.first_polled_at is not None:
        links = sorted({link for id_, link in document.links.items() if id_ not in known_ids})
        at_links = (Item.objects.filter(feed=feed, link_hash__in=chunk) for chunk in chunks(links))
        matches = [former for rows in at_links for former in _formers(rows.exclude(link_hash=""))]
        for former, state in (*matches, *_left(feed, document, candidates, order)):
            formers[former.pk] = former
            if state in OPEN:
                open_[former.pk] = former.id
    elif not partial and (missing := _perhaps_withdrawn(document, order, done.union(open_.values()))):
        for some in batched(missing, RANGES):
            assigned = Item.objects.filter(_in_ranges(some), feed=feed, state=Item.State.ASSIGNED)
            open_.update(assigned.order_by().values_list("pk", "guid_hash"))
    return Recorded(
        frozenset(done), tuple(open_), frozenset(reposts), tuple(formers.values()), order, frozenset(older)
    )


def suspected(rows: Recorded, document: Document) -> list[Suspect]:
    if not rows.formers:
        return []
    known_ids = rows.done.union(former.id for former in rows.formers)
    ids = {former.id for former in rows.formers}.union(document.order)
    return suspects(
        [id_ for id_ in document.entries if id_ not in known_ids],
        rows.formers,
        entries=document.entries,
        order=document.newest_first(),
        previous=previous_order(rows.order, ids),
    )


def _left(
    feed: Feed, document: Document, candidates: Iterable[str], order: Iterable[str]
) -> Iterator[tuple[Former, str]]:
    width = DIGEST_BYTES * 2
    there = {id_[:width] for id_ in document.order}
    left = [short for short in order if short not in there][:LEFT_AT_MOST]
    titles = {title for id_ in candidates if (title := document.entries[id_].like.title)}
    again: set[str] = set()
    for some in batched(left, RANGES):
        for former, state in _formers(Item.objects.filter(_in_ranges(some), feed=feed)):
            yield former, state
            if former.repost and former.like.title in titles:
                again.add(former.like.title)
    if again:
        # Shows how many posts left a feed that makes up ids and links at each reading.
        reposts = Item.objects.filter(feed=feed, state=Item.State.EXCLUDED, reason=REPOST)
        yield from (one for one in _formers(reposts) if one[0].like.title in again)


def _in_ranges(some: Iterable[str]) -> Q:
    """Match by prefix. Hex digits sort before "g" in any collation."""
    return reduce(or_, (Q(guid_hash__gte=short, guid_hash__lt=f"{short}g") for short in some))


def _perhaps_withdrawn(document: Document, order: Sequence[str], known_ids: Collection[str]) -> list[str]:
    """Return missing posts, some of which may be in collections.

    Posts that rolled off the old end count only if earlier posts are back.
    """
    width = DIGEST_BYTES * 2
    there = {id_[:width] for id_ in document.order}
    last = max((place for place, short in enumerate(order) if short in there), default=-1)
    known_shorts = {id_[:width] for id_ in known_ids}
    if not known_shorts <= set(order):
        last = len(order)
    return [short for short in order[: max(last, 0)] if short not in there][:LEFT_AT_MOST]


def _formers(rows: ItemQuerySet) -> Iterator[tuple[Former, str]]:
    columns = ("pk", "guid_hash", "link_hash", "title", "link", "published_at", "state", "reason")
    for pk, id_, hash_, title, link, published, *why in rows.order_by().values_list(*columns):
        yield Former(pk, id_, hash_, _is_repost(*why), published, likeness(title, link)), why[0]


def _is_repost(state: str, reason: str) -> bool:
    return state == Item.State.EXCLUDED and reason == REPOST


def known(feed: Feed, pks: Iterable[int] = (), *, lock: bool) -> list[KnownItem]:
    waiting = Item.objects.unassigned().filter(feed=feed).order_by().values_list("pk", flat=True)
    items = []
    for chunk in chunks(sorted({*pks, *waiting})):
        rows = Item.objects.filter(pk__in=chunk).order_by("pk")
        if lock:
            rows = rows.select_for_update()
        for changes, returns, *values in rows.values_list(*COUNTS, *COLUMNS, *MOMENTS):
            pk, id_, state, hash_, first_seen, stable_since, *moments = values
            vanished, rolled_off, final, held, aside = (moment is not None for moment in moments)
            facts = (state, hash_, first_seen, stable_since, vanished, rolled_off, final, held, changes)
            items.append(KnownItem(pk, id_, *facts, returns, aside))
    return items


def packed(order: Iterable[str]) -> bytes:
    """Store 16 bytes for an id."""
    return b"".join(bytes.fromhex(id_)[:DIGEST_BYTES] for id_ in order)


def previous_order(order: Iterable[str], ids: Iterable[str]) -> list[str]:
    """Order newest first, with ids lengthened if in `ids`."""
    by_short: Mapping[str, str] = {id_[: DIGEST_BYTES * 2]: id_ for id_ in ids}
    return [by_short.get(short, short) for short in order]


def shorts(feed: Feed) -> tuple[str, ...]:
    order = FeedDocument.objects.filter(feed=feed).values_list("order", flat=True).first()
    digits, width = bytes(order or b"").hex(), DIGEST_BYTES * 2
    return tuple(digits[at : at + width] for at in range(0, len(digits), width))


def chunks(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    return batched(rows, ROWS_A_STATEMENT)
