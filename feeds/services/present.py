"""The posts that stand in a feed now, from the document that was read last."""

import zlib

from feeds.models import Feed, FeedDocument
from feeds.parsing.document import parse
from feeds.parsing.entry import Entry, ParseError
from feeds.services.reading import clean_entry


def present_entries(feed: Feed, count: int) -> list[Entry]:
    """The first `count` posts of the feed's kept document, cleaned; none if there is none to read."""
    document = FeedDocument.objects.filter(feed=feed).first()
    if document is None:
        return []
    headers = document.headers
    url = headers.get("url", feed.url)
    try:
        body = zlib.decompress(bytes(document.body))
        parsed = parse(body, content_type=headers.get("content-type", ""), url=url)
    except (ParseError, zlib.error):
        return []
    return [clean_entry(entry, url) for entry in parsed.entries[:count]]
