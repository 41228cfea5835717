import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TypeVar

from django.db.models import Q

from common.db.bulk import batched
from feeds.models import Feed, FeedDocument, Item
from feeds.parsing.document import MAX_ENTRIES, parse
from feeds.parsing.entry import Entry, Name, ParsedFeed, ParseError
from feeds.parsing.identity import link_hash
from feeds.parsing.likeness import likeness, similarity
from feeds.parsing.posts import mark, shared, told_apart
from feeds.polling.read import Reading, digest
from feeds.rules.facts import Document, Known, Seen
from feeds.rules.plan import NAMESAKE, OLDER
from feeds.rules.reposts import REPOST, is_repost, suspects

# Per feed.
HOLDERS_AT_MOST = 1_000
# In FeedDocument.channel, for feeds.parsing.posts.
HOLDERS = "holders"
T = TypeVar("T")
# SQLite takes at most 999 parameters for a statement.
ROWS_A_STATEMENT = 900
DIGEST_BYTES, HASH_BYTES = 16, 8
# Missing posts of the last document that are looked up.
LEFT_AT_MOST = 1_000
RANGES = 100
OPEN = frozenset({Item.State.UNASSIGNED, Item.State.ASSIGNED})
DONE = frozenset({Item.State.CLEARED, Item.State.EXCLUDED})


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
    return told_apart(parsed, document.channel.get(HOLDERS) or {})


def load(feed: Feed, reading: Reading, known: Known | None = None, *, lock: bool) -> Known:
    """Look up a document's items. Slow, so call it before the transaction.

    Call it again under locks with `known`: only what may have changed is read again, as the lease keeps other
    polls off.
    """
    order, hashes = shorts(feed)
    if known is None:
        known, pks = _look_up(feed, reading, order)
        known = replace(known, changed=_changed(reading.document, hashes))
    else:
        pks = {item.pk for item in known.items}
    items = open_items(feed, pks, lock=lock)
    ids = {row.guid_hash for row in (*known.formers, *items)}.union(reading.document.order)
    # In front, to keep the others' relative places.
    return replace(known, items=items, order=(*reading.before, *previous_order(order, ids)))


def _look_up(feed: Feed, reading: Reading, order: Sequence[str]) -> tuple[Known, set[int]]:
    """Return it without `items`, but their keys."""
    document = reading.document
    done: set[str] = set(reading.before)
    reposts: set[str] = set()
    older: set[str] = set()
    items: dict[int, str] = {}
    for chunk in chunks(document.order):
        rows = Item.objects.filter(feed=feed, guid_hash__in=chunk).order_by()
        for pk, id_, state, reason in rows.values_list("pk", "guid_hash", "state", "reason").iterator():
            if state in DONE:
                done.add(id_)
            else:
                items[pk] = id_
            if state == Item.State.EXCLUDED and reason == REPOST:
                reposts.add(id_)
            elif reason == OLDER:
                older.add(id_)
    formers: dict[int, Item] = {}
    known_ids = (done - reposts).union(items.values())
    candidates = [id_ for id_ in document.entries if id_ not in known_ids]
    if candidates and feed.first_polled_at is not None:
        links = sorted({link for id_, link in document.links.items() if id_ not in known_ids})
        for chunk in chunks(links):
            at_links = Item.objects.filter(feed=feed, link_hash__in=chunk).exclude(link_hash="")
            formers |= {former.pk: former for former in at_links.order_by().defer("entry")}
        formers |= {former.pk: former for former in _left(feed, document, candidates, order)}
        items |= {pk: former.guid_hash for pk, former in formers.items() if former.state in OPEN}
    elif not reading.partial and (missing := _perhaps_withdrawn(document, order, done | known_ids)):
        for some in batched(missing, RANGES):
            assigned = Item.objects.filter(_in_ranges(some), feed=feed, state=Item.State.ASSIGNED)
            items.update(assigned.order_by().values_list("pk", "guid_hash"))
    found = tuple(formers.values())
    similar = _similarities(feed, reading, done, found, order) if found else {}
    known = Known((), done, reposts, older, found, similar)
    return known, set(items)


def _similarities(
    feed: Feed, reading: Reading, done: Collection[str], formers: Sequence[Item], order: Sequence[str]
) -> dict[tuple[str, str], float]:
    """Compare the texts of posts that may be the same."""
    entries = reading.document.entries
    ids = {former.guid_hash for former in formers}
    pairs = suspects(
        [id_ for id_ in entries if id_ not in ids and id_ not in done],
        formers,
        entries=entries,
        order=reading.document.newest_first(),
        previous=previous_order(order, ids.union(reading.document.order)),
    )
    if not pairs:
        return {}
    document = reading.last or FeedDocument.objects.filter(feed=feed).first()
    parsed = kept_feed(document) if document else None
    before = {digest(entry.guid): entry for entry in parsed.entries} if parsed else {}
    return {
        (id_, former.guid_hash): similarity(_words(reading.entries[id_]), _words(entry))
        for id_, former, _ in pairs
        if (entry := before.get(former.guid_hash)) is not None
    }


def _words(entry: Entry) -> tuple[str, str]:
    return entry.title, entry.content or entry.summary


def _left(feed: Feed, document: Document, candidates: Iterable[str], order: Iterable[str]) -> Iterator[Item]:
    rows = Item.objects.filter(feed=feed).order_by().defer("entry")
    width = DIGEST_BYTES * 2
    there = {id_[:width] for id_ in document.order}
    left = [short for short in order if short not in there][:LEFT_AT_MOST]
    titles = {title for id_ in candidates if (title := document.entries[id_].like.title)}
    again: set[str] = set()
    for some in batched(left, RANGES):
        for former in rows.filter(_in_ranges(some)):
            yield former
            if is_repost(former) and former.like.title in titles:
                again.add(former.like.title)
    if again:
        # Shows how many posts left a feed that makes up ids and links at each reading.
        reposts = rows.filter(state=Item.State.EXCLUDED, reason=REPOST)
        yield from (former for former in reposts if former.like.title in again)


def _in_ranges(some: Iterable[str]) -> Q:
    """Match by prefix. Hex digits sort before "g" in any collation."""
    return reduce(or_, (Q(guid_hash__gte=short, guid_hash__lt=f"{short}g") for short in some))


def _perhaps_withdrawn(document: Document, order: Sequence[str], known_ids: Collection[str]) -> list[str]:
    """Return missing posts, some of which may be in collections.

    Posts that rolled off the old end count only if earlier posts are back, or the document is complete.
    """
    width = DIGEST_BYTES * 2
    there = {id_[:width] for id_ in document.order}
    last = max((place for place, short in enumerate(order) if short in there), default=-1)
    known_shorts = {id_[:width] for id_ in known_ids}
    if document.is_complete or not known_shorts <= set(order):
        last = len(order)
    return [short for short in order[: max(last, 0)] if short not in there][:LEFT_AT_MOST]


def open_items(feed: Feed, pks: Iterable[int] = (), *, lock: bool) -> list[Item]:
    waiting = Item.objects.unassigned().filter(feed=feed).order_by().values_list("pk", flat=True)
    items: list[Item] = []
    for chunk in chunks(sorted({*pks, *waiting})):
        rows = Item.objects.filter(pk__in=chunk).order_by("pk").defer("entry")
        items += rows.select_for_update() if lock else rows
    return items


def packed(order: Iterable[str]) -> bytes:
    """Store 16 bytes for an id."""
    return b"".join(bytes.fromhex(id_)[:DIGEST_BYTES] for id_ in order)


def previous_order(order: Iterable[str], ids: Iterable[str]) -> list[str]:
    """Order newest first, with ids lengthened if in `ids`."""
    by_short: Mapping[str, str] = {id_[: DIGEST_BYTES * 2]: id_ for id_ in ids}
    return [by_short.get(short, short) for short in order]


def hashes_of(document: Document) -> bytes:
    entries = document.entries.items()
    return b"".join(bytes.fromhex(id_)[:DIGEST_BYTES] + _short_hash(entry) for id_, entry in entries)


def _short_hash(entry: Seen) -> bytes:
    return bytes.fromhex(entry.content_hash[-HASH_BYTES * 2 :])


def _changed(document: Document, hashes: bytes) -> tuple[str, ...]:
    """Return the ids of posts that had another content, newest first."""
    width = DIGEST_BYTES + HASH_BYTES
    records = (hashes[at : at + width] for at in range(0, len(hashes), width))
    before = {record[:DIGEST_BYTES]: record[DIGEST_BYTES:] for record in records}
    changed = set()
    for id_, entry in document.entries.items():
        hash_ = _short_hash(entry)
        if before.get(bytes.fromhex(id_)[:DIGEST_BYTES], hash_) != hash_:
            changed.add(id_)
    return tuple(id_ for id_ in document.newest_first() if id_ in changed) if changed else ()


def shorts(feed: Feed) -> tuple[tuple[str, ...], bytes]:
    """Return the last document's order, and the hashes of its posts."""
    row = FeedDocument.objects.filter(feed=feed).values_list("order", "hashes").first()
    order, hashes = row or (b"", b"")
    digits, width = bytes(order).hex(), DIGEST_BYTES * 2
    return tuple(digits[at : at + width] for at in range(0, len(digits), width)), bytes(hashes or b"")


def chunks(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    return batched(rows, ROWS_A_STATEMENT)


def tell_apart(feed: Feed, reading: Reading) -> None:
    """Make the reading's guids unique, and set the holders of shared guids.

    The holder is the first post with the guid in the last document, as it may have an item. The other posts
    there are `before`, not new: earlier releases counted only the first.
    """
    parsed = reading.parsed
    if parsed is None or reading.holders is not None:
        return
    document = reading.last or FeedDocument.objects.filter(feed=feed).defer("body").first()
    holders = dict(document.channel.get(HOLDERS) or {}) if document else {}
    fresh = {guid: names for guid, names in shared(parsed).items() if mark(guid) not in holders}
    if fresh:
        # If unreadable, assume the same posts.
        kept = (kept_feed(document) or parsed) if document else None
        # Of the last document.
        of_kept: dict[str, list[Name]] = {}
        for name in kept.names if kept else ():
            if name.guid in fresh:
                of_kept.setdefault(name.guid, []).append(name)
        reading.before = _before(feed, kept, of_kept) if kept else {}
        holders |= _found(feed, parsed, {**fresh, **of_kept}, without=fresh.keys() - of_kept.keys())
    reading.parsed = told_apart(parsed, holders)
    if len(holders) > HOLDERS_AT_MOST:
        here = {mark(name.guid) for name in parsed.names}
        holders = dict(sorted(holders.items(), key=lambda one: one[0] not in here)[:HOLDERS_AT_MOST])
    reading.holders = holders


def leave_before(feed: Feed, reading: Reading) -> None:
    """Exclude the posts `before`, so that they never count as new."""
    Item.objects.bulk_create(
        Item(
            feed=feed,
            guid=guid,
            guid_hash=id_,
            title=entry.title if entry else "",
            link=entry.link if entry else "",
            link_hash=link_hash(entry.link) if entry else "",
            published_at=entry.published if entry else None,
            state=Item.State.EXCLUDED,
            reason=NAMESAKE,
            first_seen=reading.moment,
            stable_since=reading.moment,
            last_checked=reading.moment,
        )
        for id_, (guid, entry) in reading.before.items()
    )


def _before(
    feed: Feed, kept: ParsedFeed, names: Mapping[str, list[Name]]
) -> dict[str, tuple[str, Entry | None]]:
    """Return id → (guid, entry) of `before` posts without an item."""
    entries = {entry.guid: entry for entry in kept.entries}
    others = {digest(name.own): name.own for every in names.values() for name in every[1:]}
    known = {
        id_
        for chunk in chunks(list(others))
        for id_ in Item.objects.filter(feed=feed, guid_hash__in=chunk).values_list("guid_hash", flat=True)
    }
    return {id_: (own, entries.get(own)) for id_, own in others.items() if id_ not in known}


def _found(
    feed: Feed, parsed: ParsedFeed, names: Mapping[str, list[Name]], *, without: Collection[str]
) -> dict[str, str]:
    """Return mark of a guid → mark of its holder, the first of its `names`.

    For guids `without` a post in the last document, but with an item, it is the post with that title.
    """
    items: dict[str, str] = {}
    for chunk in chunks([digest(guid) for guid in without]):
        items |= dict(Item.objects.filter(feed=feed, guid_hash__in=chunk).values_list("guid_hash", "title"))
    titles = {entry.guid: likeness(entry.title, "").title for entry in parsed.entries} if items else {}
    own = dict(zip(parsed.names, parsed.guids, strict=True)) if items else {}
    holders = {}
    for guid, every in names.items():
        title = likeness(items[digest(guid)], "").title if guid in without and digest(guid) in items else None
        if title is not None:
            every = [name for name in every if titles.get(own[name]) == title]
        holders[mark(guid)] = mark(every[0].own) if every else ""
    return holders
