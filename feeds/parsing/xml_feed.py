"""RSS 0.9x, 1.0, 2.0 and Atom 0.3, 1.0."""

import io
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import feedparser

from feeds.parsing import elements, posts
from feeds.parsing.entry import Channel, ParsedFeed, ParseError
from feeds.parsing.fields import (
    MAX_DESCRIPTION,
    MAX_ENTRY_TITLE,
    Raw,
    XmlReader,
    authors_of,
    hint_of,
    language,
    line_of,
    names_of,
    people_of,
)
from feeds.parsing.format import NOT_A_FEED, charset_header, escaped, tidied
from feeds.parsing.hints import unknown_policy
from feeds.parsing.media import absolute
from feeds.parsing.posts import BROKEN, hub_addresses, read_posts

elements.install()

_STARTS = re.compile(rb"<(?:\w+:)?(?:item|entry)[\s>]", re.IGNORECASE)
_ENDS = re.compile(rb"</(?:\w+:)?(?:item|entry|channel|rss|feed|rdf)\s*>", re.IGNORECASE)

BREAKS_OFF = "The feed breaks off in its first post, so nothing can be read. It is tried again later."
BAD_XML = "The feed is not well-formed XML; it was read as far as possible."


def read_xml_feed(body: bytes, *, content_type: str, url: str, limit: int) -> ParsedFeed:
    admitted, warnings = tidied(body)
    media_type, doubts = charset_header(admitted, content_type)
    warnings += doubts
    document = _parsed(admitted, media_type)
    # Of encodings and media types.
    harmless = feedparser.exceptions.ThingsNobodyCaresAboutButMe
    broken = bool(document.get("bozo")) and not isinstance(document.get("bozo_exception"), harmless)
    if broken and (mended := escaped(admitted)) != admitted:
        document = _parsed(mended, media_type)
    feed, version, raw = document["feed"], str(document.get("version") or ""), document["entries"]
    if not raw and not version:
        raise ParseError(NOT_A_FEED)
    if broken:
        warnings.append(BAD_XML)
        raw = _without_the_cut(raw, admitted)
        if not raw:
            raise ParseError(BROKEN)
    site = absolute(feed.get("link"), url)
    atom = version.startswith("atom")
    # RFC 4287 §4.2.1.
    inherited = names_of(authors_of(feed)) if atom else ()
    owners = people_of(authors_of(feed), site or url) if atom else ()
    tongue = language(feed.get("language"))
    # RFC 4287 §2, §4.2.7.1: links are relative to the document. RSS doesn't say.
    reader = XmlReader(url if atom else site or url, url, atom, inherited, owners, tongue)
    posts = read_posts(raw, reader, limit=limit)
    policies = (hint_of(one)[1] for one in raw if "iffy_hints" in one)
    return replace(
        posts,
        title=line_of(feed, "title", MAX_ENTRY_TITLE, atom),
        link=site,
        description=line_of(feed, "subtitle", MAX_DESCRIPTION, atom),
        language=tongue,
        warnings=(*warnings, *posts.warnings, *unknown_policy(policies)),
        channel=_channel(feed, url),
    )


def _parsed(body: bytes, media_type: str) -> feedparser.FeedParserDict:
    headers = {"content-type": media_type}
    try:
        # Bytes would be tried as a file name.
        return feedparser.parse(
            io.BytesIO(body), response_headers=headers, sanitize_html=False, resolve_relative_uris=False
        )
    except (MemoryError, KeyboardInterrupt, ParseError):
        raise
    except Exception as error:
        # It fails in many ways.
        raise ParseError(BROKEN) from error


def _without_the_cut(raw: list[Raw], body: bytes) -> list[Raw]:
    """Drop a truncated last post. Raises ParseError if there is no other."""
    ends = [match.end() for match in _ENDS.finditer(body)]
    if _STARTS.search(body, ends[-1] if ends else 0) is None:
        return raw
    if len(raw) == 1:
        raise ParseError(BREAKS_OFF)
    return raw[:-1]


def _channel(feed: Mapping[str, Any], url: str) -> Channel:
    links = [one for one in feed.get("links") or () if isinstance(one, dict)]
    image = feed.get("image")
    image_url = image.get("href") if isinstance(image, dict) else ""
    logos = (absolute(one, url) for one in (feed.get("logo"), image_url, feed.get("icon")))
    topics = (absolute(one.get("href"), url) for one in links if "self" in _relations(one))
    return Channel(
        ttl=posts.ttl(feed.get("ttl")),
        skip_hours=posts.hours(feed.get("skipped_hours") or ()),
        skip_days=posts.days(feed.get("skipped_days") or ()),
        hubs=hub_addresses((one.get("href") for one in links if "hub" in _relations(one)), url),
        topic=next(filter(None, topics), ""),
        image=next(filter(None, logos), ""),
    )


def _relations(link: Mapping[str, Any]) -> list[str]:
    return str(link.get("rel") or "").lower().split()
