"""Taking an excluded item back: its content comes from the kept document."""

import zlib
from datetime import datetime

from django.db import transaction

from feeds.models import FeedDocument, Item
from feeds.parsing.content_hash import content_hash
from feeds.parsing.document import parse
from feeds.parsing.entry import Entry, ParseError
from feeds.services.reading import clean_entry


@transaction.atomic
def include_item(*, item_id: int, now: datetime) -> str:
    """Makes an excluded item new again, with its clock started now. Returns what happened, in a sentence."""
    item = Item.objects.select_for_update().get(pk=item_id)
    if item.state != Item.State.EXCLUDED:
        return f"“{item}” is not excluded."
    entry = kept_entry(item)
    if entry is None:
        return f"“{item}” is no longer in the feed, so there is nothing to send."
    cleaned = clean_entry(entry, item.feed.url)
    item.state, item.reason = Item.State.UNASSIGNED, ""
    item.first_seen = item.stable_since = item.last_checked = now
    item.final_at = item.vanished_at = item.rolled_off_at = None
    item.content_hash, item.entry = content_hash(entry), cleaned.to_json()
    item.title, item.link, item.published_at = entry.title, entry.link, entry.published
    item.save()
    return f"“{item}” will be sent once it has settled."


def kept_entry(item: Item) -> Entry | None:
    """The entry of an item in its feed's last document, uncleaned; None when it is not there."""
    document = FeedDocument.objects.filter(feed_id=item.feed_id).first()
    if document is None:
        return None
    headers = document.headers
    try:
        parsed = parse(
            zlib.decompress(bytes(document.body)),
            content_type=headers.get("content-type", ""),
            url=headers.get("url", ""),
        )
    except ParseError:
        return None
    return next((entry for entry in parsed.entries if entry.guid == item.guid), None)
