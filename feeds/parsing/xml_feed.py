"""RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0: by feedparser, which reads what can be read."""

import io
import re
from collections.abc import Iterator, Mapping
from typing import Any

import feedparser

from common.html.clean import plain
from common.text import shortened
from feeds.parsing import channels, elements
from feeds.parsing.entry import Channel, Entry, ParsedFeed, ParseError
from feeds.parsing.fields import (
    MAX_TITLE,
    Raw,
    entry_of,
    hint_of,
    identity,
    identity_of_text,
    language,
    listed,
    moment,
    names_of,
    words,
    words_of_atom,
)
from feeds.parsing.format import NOT_A_FEED, charset_header, escaped, tidied
from feeds.parsing.hints import UNKNOWN
from feeds.parsing.media import absolute
from feeds.parsing.posts import BROKEN, Reader, read_posts

elements.install()

_STARTS = re.compile(rb"<(?:\w+:)?(?:item|entry)[\s>]", re.IGNORECASE)
_ENDS = re.compile(rb"</(?:\w+:)?(?:item|entry|channel|rss|feed|rdf)\s*>", re.IGNORECASE)

BREAKS_OFF = "The feed breaks off in its first post, so nothing can be read. It is tried again later."
BAD_XML = "The feed is not well-formed XML; it was read as far as possible."


def read(body: bytes, *, content_type: str, url: str, limit: int) -> ParsedFeed:
    """As `feeds.parsing.document.parse`, of XML."""
    admitted, warnings = tidied(body)
    document = _parsed(admitted, content_type)
    broken = _is_broken(document)
    if broken and (mended := escaped(admitted)) != admitted:
        document = _parsed(mended, content_type)
    feed, version, raw = document["feed"], str(document.get("version") or ""), document["entries"]
    if not raw and not version:
        raise ParseError(NOT_A_FEED)
    if broken:
        warnings.append(BAD_XML)
        raw = _without_the_cut(raw, admitted)
        if not raw:
            raise ParseError(BROKEN)
    site = absolute(feed.get("link"), url)
    posts = read_posts(raw, _reader(feed, site or url, url, atom=version.startswith("atom")), limit=limit)
    return ParsedFeed(
        title=shortened(plain(str(feed.get("title") or "")), MAX_TITLE),
        link=site,
        language=language(feed.get("language")),
        guids=posts.guids,
        names=posts.names,
        entries=posts.entries,
        warnings=(*warnings, *posts.warnings, *_unknown_hints(raw)),
        channel=_channel(feed, url),
    )


def _reader(feed: Raw, base: str, url: str, *, atom: bool) -> Reader[Raw]:
    # RFC 4287 §4.2.1: they are the authors of entries that have none. RSS says nothing of the kind.
    inherited = listed(names_of(feed)) if atom else ()

    def entry(raw: Raw, guid: str) -> Entry:
        return entry_of(raw, guid, base=base, url=url, atom=atom, inherited=inherited)

    return Reader(
        guid=identity,
        words=words_of_atom if atom else words,
        date=lambda raw: moment(raw, "published") or moment(raw, "updated"),
        entry=entry,
        text=identity_of_text,
    )


def _parsed(body: bytes, content_type: str) -> feedparser.FeedParserDict:
    headers = {"content-type": charset_header(body, content_type)}
    try:
        # A stream: bytes would be tried as a file name first.
        return feedparser.parse(
            io.BytesIO(body),
            response_headers=headers,
            sanitize_html=False,
            resolve_relative_uris=False,
        )
    except (MemoryError, KeyboardInterrupt, ParseError):
        raise
    except Exception as error:
        # Hostile bytes find many ways to fail in feedparser.
        raise ParseError(BROKEN) from error


def _is_broken(document: Mapping[str, Any]) -> bool:
    """Not well-formed. (Trouble with encodings and media types is common and harmless.)"""
    harmless = feedparser.exceptions.ThingsNobodyCaresAboutButMe
    return bool(document.get("bozo")) and not isinstance(document.get("bozo_exception"), harmless)


def _without_the_cut(raw: list[Raw], body: bytes) -> list[Raw]:
    """Without a last post that the end of the document cuts off: half of it would be sent as if it were all.

    Raises ParseError when that was the only one.
    """
    ends = [match.end() for match in _ENDS.finditer(body)]
    if _STARTS.search(body, ends[-1] if ends else 0) is None:
        return raw
    if len(raw) == 1:
        raise ParseError(BREAKS_OFF)
    return raw[:-1]


def _unknown_hints(raw: list[Raw]) -> Iterator[str]:
    policies = (hint_of(one)[1] for one in raw if "iffy_hints" in one)
    if unknown := next(filter(None, policies), ""):
        yield UNKNOWN.format(unknown)


def _channel(feed: Mapping[str, Any], url: str) -> Channel:
    links = [one for one in feed.get("links") or () if isinstance(one, dict)]
    topics = (absolute(one.get("href"), url) for one in links if "self" in _relations(one))
    return Channel(
        ttl=channels.ttl(feed.get("ttl")),
        skip_hours=channels.hours(feed.get("skipped_hours") or ()),
        skip_days=channels.days(feed.get("skipped_days") or ()),
        hubs=channels.hubs((one.get("href") for one in links if "hub" in _relations(one)), url),
        topic=next(filter(None, topics), ""),
        image=_image(feed, url),
    )


def _relations(link: Mapping[str, Any]) -> list[str]:
    return str(link.get("rel") or "").lower().split()


def _image(feed: Mapping[str, Any], url: str) -> str:
    image = feed.get("image")
    href = image.get("href") if isinstance(image, dict) else ""
    return absolute(feed.get("logo"), url) or absolute(href, url) or absolute(feed.get("icon"), url)
