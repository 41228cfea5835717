"""Which post of a feed holds a guid that several have: found out when it is first seen, and remembered."""

from collections.abc import Collection, Mapping
from datetime import datetime

from feeds.models import Feed, FeedDocument, Item
from feeds.parsing.entry import Entry, Name, ParsedFeed
from feeds.parsing.identity import link_hash
from feeds.parsing.likeness import likeness
from feeds.parsing.namesakes import mark, shared, told_apart
from feeds.polling.kept_document import holders_of, kept_feed
from feeds.polling.known_items import chunks
from feeds.polling.read import Reading, digest
from feeds.rules.plan import NAMESAKE

# So many shared guids are remembered for a feed.
HOLDERS_AT_MOST = 1_000


def tell_apart(feed: Feed, reading: Reading) -> None:
    """Gives the reading's posts the names that they have in this feed, and says who holds shared guids.

    The holder of a guid is the first post that had it in the last document: an item may stand for that one.
    Others that had it there were not seen as posts of their own then (releases before this one had the first
    count), so they are `before`, and not new now.
    """
    parsed = reading.parsed
    if parsed is None or reading.holders is not None:
        return
    holders = dict(_remembered(feed) if reading.kept_holders is None else reading.kept_holders)
    fresh = {guid: names for guid, names in shared(parsed).items() if mark(guid) not in holders}
    if fresh:
        document = FeedDocument.objects.filter(feed=feed).first()
        # What cannot be read any more held, for all we know, what there is now.
        kept = (kept_feed(document) or parsed) if document else None
        of_kept = _names(kept, fresh) if kept else {}
        reading.before = _before(feed, kept, of_kept) if kept else {}
        found = _found(feed, parsed, {**fresh, **of_kept}, without=fresh.keys() - of_kept.keys())
        holders |= found
    reading.parsed = told_apart(parsed, holders)
    reading.holders = _bounded(holders, parsed)


def leave_before(feed: Feed, reading: Reading, moment: datetime) -> None:
    """Rows for what was there before under another post's guid: it never comes new again."""
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


def _remembered(feed: Feed) -> Mapping[str, str]:
    document = FeedDocument.objects.filter(feed=feed).only("channel").first()
    return holders_of(document) if document else {}


def _bounded(holders: Mapping[str, str], parsed: ParsedFeed) -> Mapping[str, str]:
    """Those of guids that the document has go first, where there are too many."""
    if len(holders) <= HOLDERS_AT_MOST:
        return holders
    here = {mark(name.guid) for name in parsed.names}
    return dict(sorted(holders.items(), key=lambda one: one[0] not in here)[:HOLDERS_AT_MOST])


def _names(parsed: ParsedFeed, guids: Collection[str]) -> dict[str, list[Name]]:
    """These guids, as far as the document has them, each with the names of its posts in its order."""
    found: dict[str, list[Name]] = {}
    for name in parsed.names:
        if name.guid in guids:
            found.setdefault(name.guid, []).append(name)
    return found


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
