"""A feed's last document, read again."""

import zlib
from collections.abc import Mapping

from feeds.models import FeedDocument
from feeds.parsing.document import MAX_ENTRIES, parse
from feeds.parsing.duplicate_guids import told_apart
from feeds.parsing.entry import ParsedFeed, ParseError

# The key, beside what the channel says of itself, under which the holders of its shared guids are kept
# (see feeds.parsing.duplicate_guids).
HOLDERS = "holders"


def kept_feed(document: FeedDocument, *, limit: int = MAX_ENTRIES) -> ParsedFeed | None:
    """What the document says, its posts named as the feed's items are; None when it cannot be read."""
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
    """Which posts hold the feed's shared guids, as far as that was found out."""
    return dict(document.channel.get(HOLDERS) or {})
