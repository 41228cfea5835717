"""An excluded item is taken back, with the content that the last document has of it."""

from dataclasses import replace
from datetime import datetime

from django.db import transaction

from feeds.models import Feed, FeedDocument, Item
from feeds.parsing.entry import Entry
from feeds.parsing.identity import content_hash, link_hash
from feeds.polling.kept_document import kept_feed
from feeds.polling.read import clean_entry

# More than a poll reads in full: the item may have been excluded for standing beyond that.
POSTS_SEARCHED = 5_000


def include_item(*, item_id: int, now: datetime) -> str:
    """Makes an excluded item new again, with its clock started now. Returns what happened, in a sentence."""
    item = Item.objects.get(pk=item_id)
    if item.state != Item.State.EXCLUDED:
        return f"“{item}” is not excluded."
    document = FeedDocument.objects.filter(feed=item.feed_id).first()
    entry = kept_entry(item, document) if document else None
    if document is None or entry is None:
        return f"“{item}” is no longer in the feed, so there is nothing to send."
    hash_ = content_hash(entry)
    with transaction.atomic():
        # The feed first, as polls do: none may read the feed anew between our look and our writing.
        feed = Feed.objects.select_for_update().get(pk=item.feed_id)
        if not FeedDocument.objects.filter(feed=item.feed_id, sha256=document.sha256).exists():
            return f"The feed of “{item}” was read this very moment. Try it once more."
        cleaned = _entry_of(feed, entry, document.headers.get("url", ""))
        item = Item.objects.select_for_update().get(pk=item.pk)
        if item.state != Item.State.EXCLUDED:
            return f"“{item}” is not excluded."
        item.state, item.reason = Item.State.UNASSIGNED, ""
        item.first_seen = item.stable_since = item.last_checked = now
        item.final_at = item.vanished_at = item.rolled_off_at = item.held_at = None
        item.set_aside_at = None
        item.changes, item.link_hash = 0, link_hash(cleaned.link)
        item.content_hash, item.entry = hash_, cleaned.to_json()
        item.title, item.link, item.published_at = cleaned.title, cleaned.link, cleaned.published
        item.save()
    return f"“{item}” will be sent once it has settled."


def kept_entry(item: Item, document: FeedDocument) -> Entry | None:
    """The entry of an item in its feed's last document, uncleaned; None when it is not there."""
    parsed = kept_feed(document, limit=POSTS_SEARCHED)
    return next((entry for entry in parsed.entries if entry.guid == item.guid), None) if parsed else None


def present_entries(feed: Feed, count: int) -> list[Entry]:
    """The first `count` posts of the feed's kept document, cleaned; none if there is none to read."""
    document = FeedDocument.objects.filter(feed=feed).first()
    if document is None:
        return []
    parsed = kept_feed(document)
    url = document.headers.get("url", feed.url)
    return [_entry_of(feed, entry, url) for entry in parsed.entries[:count]] if parsed else []


def _entry_of(feed: Feed, entry: Entry, url: str) -> Entry:
    """Cleaned, and with what all summaries of the feed say."""
    return replace(clean_entry(entry, url), boilerplate=(feed.boilerplate_start, feed.boilerplate_end))
