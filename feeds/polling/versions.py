"""Versions of posts whose words change after they are final, or that somebody reads here.

Costs nothing while the contents of known posts stay: their hashes are kept with the document.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from django.db.models import Q

from feeds.models import Feed, FeedDocument, Item, ItemVersion
from feeds.parsing.entry import Entry, ParseError, check_allowance
from feeds.polling.known_items import kept_feed
from feeds.polling.read import Reading, clean_entry, digest
from feeds.rules.changes import text_of
from feeds.rules.facts import Known

MOST_VERSIONS = 10
# Per reading; if more changed, then not their words.
MOST_AT_ONCE = 20
LONGEST = 100_000


def find_rewordings(feed: Feed, reading: Reading, known: Known) -> None:
    """Compare with the last document. Slow if posts changed, so call it before the transaction."""
    changed = _of_interest(feed, known.changed[:MOST_AT_ONCE]) if known.changed else {}
    if not changed:
        return
    document = reading.last or FeedDocument.objects.filter(feed=feed).first()
    parsed = kept_feed(document) if document else None
    if document is None or parsed is None:
        return
    before = {digest(entry.guid): entry for entry in parsed.entries}
    url = document.headers.get("url", "")
    try:
        for id_ in changed:
            if (entry := before.get(id_)) is None:
                continue
            old, new = clean_entry(entry, url), reading.cleaned(id_)
            if text_of(old) != text_of(new):
                reading.reworded[id_] = old, new
            check_allowance()
    except ParseError:
        # The reading counts all the same.
        return


def _of_interest(feed: Feed, ids: Sequence[str]) -> Mapping[str, int]:
    rows = Item.objects.filter(feed=feed, guid_hash__in=ids).order_by()
    if not feed.read_by:
        rows = rows.filter(Q(final_at__isnull=False), ~Q(state=Item.State.EXCLUDED))
    return dict(rows.values_list("guid_hash", "pk"))


def keep_versions(feed: Feed, reading: Reading) -> None:
    """Add versions in the caller's transaction, after the plan was applied.

    Sets the reading's `corrected`.
    """
    if not reading.reworded:
        return
    items = _of_interest(feed, tuple(reading.reworded))
    kept: dict[int, list[ItemVersion]] = {pk: [] for pk in items.values()}
    for row in ItemVersion.objects.filter(item__in=kept).order_by("pk"):
        kept[row.item_id].append(row)
    new: list[ItemVersion] = []
    for id_, pk in items.items():
        old, entry = reading.reworded[id_]
        before = kept[pk]
        if max(len(each.title) + len(each.html) for each in (old, entry)) > LONGEST:
            continue
        if before and text_of(Entry.from_json(before[-1].entry)) == text_of(entry):
            continue
        if not before:
            new.append(_version(pk, old, feed.fetched_through or reading.moment))
        new.append(_version(pk, entry, reading.moment))
        if len(before) < MOST_VERSIONS:
            reading.corrected.add(pk)
        else:
            # A text with a counter: the first ones say most.
            before[-1].delete()
    ItemVersion.objects.bulk_create(new)


def _version(item_id: int, entry: Entry, seen_at: datetime) -> ItemVersion:
    text = replace(entry, content=entry.html, summary="", media=())
    return ItemVersion(item_id=item_id, seen_at=seen_at, entry=text.to_json())
