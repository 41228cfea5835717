"""Feeds with a document that was read."""

import zlib
from collections.abc import Iterable

from feeds.models import Feed
from feeds.parsing.entry import Entry
from tests.factories import FeedDocumentFactory, FeedFactory
from tests.servers.documents import rss


def a_feed_of(entries: Iterable[Entry]) -> Feed:
    """Return a feed whose stored document has these entries, as RSS."""
    items = [
        {
            "guid": entry.guid,
            "title": entry.title,
            "link": entry.link,
            "description": entry.html,
            "categories": list(entry.categories),
        }
        for entry in entries
    ]
    feed: Feed = FeedFactory()
    headers = {"content-type": "application/rss+xml", "url": feed.url}
    FeedDocumentFactory(feed=feed, body=zlib.compress(rss(items)), headers=headers)
    return feed
