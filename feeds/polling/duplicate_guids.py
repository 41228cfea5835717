"""Which post of a feed holds a guid that several have, and which new posts say the same as ones before."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

from feeds.models import Feed, FeedDocument, Item
from feeds.parsing.duplicate_guids import mark, shared, told_apart
from feeds.parsing.entry import Entry, Name, ParsedFeed
from feeds.parsing.identity import link_hash
from feeds.parsing.likeness import likeness, similarity
from feeds.polling.known_items import chunks, holders_of, kept_feed
from feeds.polling.read import Reading, digest
from feeds.rules.plan import NAMESAKE
from feeds.rules.reposts import Suspect

# How many shared guids are remembered for a feed.
HOLDERS_AT_MOST = 1_000


def tell_apart(feed: Feed, reading: Reading) -> None:
    """Gives the reading's posts the names that they have in this feed, and says who holds shared guids.

    The holder of a guid is the first post that had it in the last document: an item may stand for that post.
    Other posts that had the guid there are `before`, and not new now: they were not seen as posts of their
    own then, as releases before this one let the first one count.
    """
    parsed = reading.parsed
    if parsed is None or reading.holders is not None:
        return
    kept_holders = reading.kept_holders
    if kept_holders is None:
        document = FeedDocument.objects.filter(feed=feed).only("channel").first()
        kept_holders = holders_of(document) if document else {}
    holders = dict(kept_holders)
    fresh = {guid: names for guid, names in shared(parsed).items() if mark(guid) not in holders}
    if fresh:
        document = FeedDocument.objects.filter(feed=feed).first()
        # What cannot be read any more held, for all we know, what there is now.
        kept = (kept_feed(document) or parsed) if document else None
        # The guids that the last document had, each with the names of its posts in its order.
        of_kept: dict[str, list[Name]] = {}
        for name in kept.names if kept else ():
            if name.guid in fresh:
                of_kept.setdefault(name.guid, []).append(name)
        reading.before = _before(feed, kept, of_kept) if kept else {}
        holders |= _found(feed, parsed, {**fresh, **of_kept}, without=fresh.keys() - of_kept.keys())
    reading.parsed = told_apart(parsed, holders)
    if len(holders) > HOLDERS_AT_MOST:
        # Guids that the document has go first.
        here = {mark(name.guid) for name in parsed.names}
        holders = dict(sorted(holders.items(), key=lambda one: one[0] not in here)[:HOLDERS_AT_MOST])
    reading.holders = holders


def similarities(feed: Feed, reading: Reading, pairs: Iterable[Suspect]) -> dict[tuple[str, str], float]:
    """Compare new posts with those that they may have been in the last document; none if it is unreadable."""
    document = FeedDocument.objects.filter(feed=feed).first()
    parsed = kept_feed(document) if document else None
    before = {digest(entry.guid): entry for entry in parsed.entries} if parsed else {}
    return {
        (pair.id, pair.former.id): similarity(_words(reading.entries[pair.id]), _words(entry))
        for pair in pairs
        if (entry := before.get(pair.former.id)) is not None
    }


def _words(entry: Entry) -> tuple[str, str]:
    return entry.title, entry.content or entry.summary


def leave_before(feed: Feed, reading: Reading, moment: datetime) -> None:
    """Makes rows for posts that were there before under another post's guid: they never come new again."""
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
            first_seen=moment,
            stable_since=moment,
            last_checked=moment,
        )
        for id_, (guid, entry) in reading.before.items()
    )


def _before(
    feed: Feed, kept: ParsedFeed, names: Mapping[str, list[Name]]
) -> dict[str, tuple[str, Entry | None]]:
    """Id → guid and entry of those that did not count in the last document, and have no item."""
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
    """Mark of a guid → mark of its holder, the first of its `names`.

    Of a guid `without` a post in the last document, but with an item, the holder is the post of that title.
    """
    items: dict[str, str] = {}
    for chunk in chunks([digest(guid) for guid in without]):
        items |= dict(Item.objects.filter(feed=feed, guid_hash__in=chunk).values_list("guid_hash", "title"))
    titles = {entry.guid: likeness(entry.title, "").title for entry in parsed.entries} if items else {}
    own = dict(zip(parsed.names, parsed.guids, strict=True)) if items else {}
    found = {}
    for guid, every in names.items():
        title = likeness(items[digest(guid)], "").title if guid in without and digest(guid) in items else None
        if title is not None:
            every = [name for name in every if titles.get(own[name]) == title]
        found[mark(guid)] = mark(every[0].own) if every else ""
    return found
