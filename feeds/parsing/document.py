"""A feed's bytes → what it says. Reads whatever can be read; the only error is ParseError."""

import io
from collections.abc import Sequence
from datetime import datetime

import feedparser

from common.html import plain
from common.text import shortened
from feeds.parsing import media_description
from feeds.parsing.entry import Entry, ParsedFeed, ParseError
from feeds.parsing.fields import MAX_TITLE, Raw, entry_of, identity, language, moment
from feeds.parsing.gate import NOT_A_FEED, admit, charset_header
from feeds.parsing.media import absolute

media_description.install()

LIMIT = 500
BROKEN = "The feed is too broken to be read. Ask its publisher to check it with a validator."
BAD_XML = "The feed is not well-formed XML; it was read as far as possible."


def parse(body: bytes, *, content_type: str, url: str, limit: int = LIMIT) -> ParsedFeed:
    """All guids in document order, and the newest `limit` entries in full, in the same order.

    `url` is where the document came from, for relative links. Raises ParseError, and nothing else.
    """
    admitted, warnings = admit(body)
    document = _read(admitted, content_type)
    feed, version = document["feed"], str(document.get("version") or "")
    if not document["entries"] and not version:
        raise ParseError(NOT_A_FEED)
    if document.get("bozo") and _is_xml_error(document.get("bozo_exception")):
        warnings.append(BAD_XML)
    raw, skipped = _identified(document["entries"])
    warnings += skipped
    if not raw and (BAD_XML in warnings or document["entries"]):
        raise ParseError(BROKEN)
    chosen = newest(list(raw.values()), limit)
    if len(chosen) < len(raw):
        warnings.append(f"The feed has {len(raw)} posts; the newest {len(chosen)} are read in full.")
    site = absolute(feed.get("link"), url)
    entries, bad = _entries(raw, chosen, base=site or url, atom=version.startswith("atom"))
    if bad:
        warnings.append(f"{_posts(bad)} could not be read and {'was' if bad == 1 else 'were'} passed over.")
    if raw and not entries:
        raise ParseError(BROKEN)
    return ParsedFeed(
        title=shortened(plain(str(feed.get("title") or "")), MAX_TITLE),
        link=site,
        language=language(feed.get("language")),
        guids=tuple(raw),
        entries=tuple(entries),
        warnings=tuple(warnings),
    )


def newest(raw: Sequence[Raw], limit: int) -> list[int]:
    """The places of the newest entries, in order: by date; undated ones from either end."""
    if len(raw) <= limit:
        return list(range(len(raw)))
    dates = [moment(one, "published") or moment(one, "updated") for one in raw]
    undated = [place for place, date in enumerate(dates) if date is None]
    dated = sorted(_dated(dates), reverse=True)
    # Newest first or oldest first: without dates nobody knows, so both ends count.
    ends = [place for pair in zip(undated, reversed(undated), strict=True) for place in pair]
    outermost = list(dict.fromkeys(ends))
    shares = outermost[: limit // 2] if dated else outermost
    chosen = dict.fromkeys([*shares, *(place for _, place in dated)])
    return sorted(list(chosen)[:limit])


def _dated(dates: Sequence[datetime | None]) -> list[tuple[datetime, int]]:
    return [(date, place) for place, date in enumerate(dates) if date is not None]


def _read(body: bytes, content_type: str) -> feedparser.FeedParserDict:
    try:
        # A stream: bytes would be tried as a file name first.
        return feedparser.parse(
            io.BytesIO(body),
            response_headers={"content-type": charset_header(body, content_type)},
            sanitize_html=False,
            resolve_relative_uris=False,
        )
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        # Hostile bytes find many ways to fail in feedparser.
        raise ParseError(BROKEN) from error


def _is_xml_error(error: object) -> bool:
    """Not the ones about encodings and media types, which are common and harmless."""
    return not isinstance(error, feedparser.exceptions.ThingsNobodyCaresAboutButMe)


def _identified(entries: Sequence[Raw]) -> tuple[dict[str, Raw], list[str]]:
    """Each entry under its guid, the first one where there are several; and warnings about the others."""
    found: dict[str, Raw] = {}
    twice, nameless = 0, 0
    for raw in entries:
        guid = identity(raw)
        twice += bool(guid) and guid in found
        nameless += not guid
        if guid:
            found.setdefault(guid, raw)
    warnings = []
    if twice:
        warnings.append(f"{_posts(twice)} with the guid of an earlier one; the first one counts.")
    if nameless:
        warnings.append(f"{_posts(nameless)} without guid, link, title and date passed over.")
    return found, warnings


def _entries(raw: dict[str, Raw], chosen: list[int], *, base: str, atom: bool) -> tuple[list[Entry], int]:
    guids, entries, bad = list(raw), [], 0
    for place in chosen:
        try:
            entries.append(entry_of(raw[guids[place]], guids[place], base=base, atom=atom))
        except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError):
            bad += 1
    return entries, bad


def _posts(count: int) -> str:
    return f"{count} post" if count == 1 else f"{count} posts"
