"""A document's bytes → what it says, whatever format it is in. The only error is ParseError."""

from typing import Any

from feeds.parsing import format, json_feed, xml_feed
from feeds.parsing.entry import ParsedFeed
from feeds.parsing.expense import allowance

MAX_ENTRIES = 500


def parse(body: bytes, *, content_type: str, url: str, limit: int = MAX_ENTRIES) -> ParsedFeed:
    """All guids in document order, and the newest `limit` entries in full, in the same order.

    RSS, Atom, JSON Feed, or a web page with h-entries, told apart by what the bytes are, never by what the
    server calls them. `url` is where the document came from, for relative links. Raises ParseError, and
    nothing else; also when it costs more than `expense.PROCESSOR_SECONDS` of the processor.
    """
    readers = {
        format.Form.JSON: json_feed.read_json_feed,
        format.Form.PAGE: _read_page,
        format.Form.XML: xml_feed.read_xml_feed,
    }
    with allowance():
        return readers[format.form_of(body)](body, content_type=content_type, url=url, limit=limit)


def _read_page(body: bytes, **options: Any) -> ParsedFeed:
    # Beautiful Soup takes long to load, and few feeds are web pages.
    from feeds.parsing.h_feed import read_h_feed

    return read_h_feed(body, **options)
