from collections.abc import Collection, Mapping

from feeds.models import Feed, FeedDocument, Item
from feeds.parsing.duplicate_guids import mark, shared, told_apart
from feeds.parsing.entry import Entry, Name, ParsedFeed
from feeds.parsing.identity import link_hash
from feeds.parsing.likeness import likeness
from feeds.polling.known_items import HOLDERS, chunks, kept_feed
from feeds.polling.read import Reading, digest
from feeds.rules.plan import NAMESAKE

# Per feed.
HOLDERS_AT_MOST = 1_000


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
