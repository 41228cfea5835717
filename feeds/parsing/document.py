from typing import Any

from feeds.parsing import format
from feeds.parsing.entry import ParsedFeed, cpu_limit

MAX_ENTRIES = 500


def parse(body: bytes, *, content_type: str, url: str, limit: int = MAX_ENTRIES) -> ParsedFeed:
    """Return all guids in document order, and the newest `limit` entries in full.

    Detects the format from the bytes. Raises only ParseError, also above `expense.PROCESSOR_SECONDS`.
    """
    # They load slowly (feedparser), and most commands parse nothing.
    from feeds.parsing import json_feed, xml_feed

    readers = {
        format.Form.JSON: json_feed.read_json_feed,
        format.Form.PAGE: _read_page,
        format.Form.XML: xml_feed.read_xml_feed,
    }
    with cpu_limit():
        return readers[format.form_of(body)](body, content_type=content_type, url=url, limit=limit)


def _read_page(body: bytes, **options: Any) -> ParsedFeed:
    # Loads slowly (Beautiful Soup), and is rarely needed.
    from feeds.parsing.h_feed import read_h_feed

    return read_h_feed(body, **options)
