"""JSON Feed 1.0 and 1.1 (https://www.jsonfeed.org/version/1.1/), and what comes near it.

ActivityPub's JSON, which many profiles answer to programs, is no feed, but it tells where one is.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeGuard

from common.html.clean import bounded
from common.text import one_line, shortened, without_controls
from feeds.parsing import channels, json_feed
from feeds.parsing.dates import moment_of, slack_of
from feeds.parsing.entry import Channel, Entry, Media, ParsedFeed, ParseError
from feeds.parsing.fields import MAX_CONTENT, MAX_TITLE, identity, language, listed
from feeds.parsing.hints import UNKNOWN, Hint, announced
from feeds.parsing.media import MAX_ALT, MAX_MEDIA, absolute, length_of, type_of
from feeds.parsing.plain_html import paragraphs
from feeds.parsing.posts import Reader, counted, read_posts

Json = Mapping[str, Any]

NAMED = "jsonfeed.org/version/"
NOT_JSON = (
    "The JSON at this address breaks off or is not well-formed, so nothing can be read. Ask its publisher to"
    " check it with a JSON validator."
)
NO_FEED = (
    "This address answers JSON that is no JSON Feed: it has no version and no items with content. Use the"
    " address of the site's feed; it is often called RSS, Atom or feed.json."
)
TRAILING = "There is something after the end of the feed; it was passed over."
UNNAMED = "The feed does not say which version of JSON Feed it is; it was read all the same."
BAD_BYTES = "The feed is not in UTF-8, as JSON has to be; some characters may be wrong."
EXPIRED = "The feed says that it has ended: there will be no more posts."
CONTEXT = "www.w3.org/ns/activitystreams"
ACTORS = frozenset({"Person", "Service", "Group", "Organization", "Application"})
MAX_SHOWN = 200
MESSAGE = (
    "This address answers ActivityPub JSON ({}), which is no feed. Use the address of the profile's RSS feed:"
    " on Mastodon it is the profile's address with “.rss” at its end, for example {}."
)


class Number(str):
    """A number as it is written: none is too large for that."""

    __slots__ = ()


def read(body: bytes, *, content_type: str, url: str, limit: int) -> ParsedFeed:
    """As `feeds.parsing.document.parse`, of JSON."""
    document, warnings = _loaded(body)
    if json_feed.is_it(document):
        raise ParseError(json_feed.message(document))
    if not isinstance(document, dict) or not _is_feed(document):
        raise ParseError(NO_FEED)
    if NAMED not in _text(document, "version"):
        warnings.append(UNNAMED)
    if document.get("expired") is True:
        warnings.append(EXPIRED)
    items = [item for item in _list(document, "items") if isinstance(item, dict)]
    if strange := len(_list(document, "items")) - len(items):
        warnings.append(f"{counted(strange)} could not be read, being no JSON object{'s' * (strange > 1)}.")
    site = absolute(_text(document, "home_page_url"), url)
    posts = read_posts(items, _reader(site or url, document), limit=limit)
    return ParsedFeed(
        title=shortened(one_line(_text(document, "title")[: 10 * MAX_TITLE]), MAX_TITLE),
        link=site,
        language=language(_text(document, "language")),
        guids=posts.guids,
        names=posts.names,
        entries=posts.entries,
        warnings=(*warnings, *posts.warnings, *_unknown_hints(items)),
        channel=_channel(document, url),
    )


def _loaded(body: bytes) -> tuple[Any, list[str]]:
    """The document and warnings."""
    text, warnings = _decoded(body)
    decoder = json.JSONDecoder(parse_int=Number, parse_float=Number, parse_constant=Number, strict=False)
    try:
        document, end = decoder.raw_decode(text.lstrip())
    except (ValueError, RecursionError) as error:
        raise ParseError(NOT_JSON) from error
    if text.lstrip()[end:].strip("\0 \t\r\n"):
        warnings.append(TRAILING)
    return document, warnings


def _decoded(body: bytes) -> tuple[str, list[str]]:
    """RFC 8259 §8.1 asks for UTF-8 without BOM; UTF-16 and UTF-32 are told by their zeros."""
    encoding = json.detect_encoding(body)
    try:
        return body.decode(encoding).lstrip("\ufeff"), []
    except UnicodeDecodeError:
        single = "cp1252" if encoding.startswith("utf-8") else encoding
        return body.decode(single, "replace").lstrip("\ufeff"), [BAD_BYTES]


def _is_feed(document: Json) -> bool:
    if NAMED in _text(document, "version"):
        return True
    items = [item for item in _list(document, "items") if isinstance(item, dict)]
    return any("content_html" in item or "content_text" in item for item in items)


def _reader(base: str, document: Json) -> Reader[Json]:
    shared = Entry("", authors=listed(_authors(document)), language=language(_text(document, "language")))
    return Reader(
        guid=_guid, words=_words, date=_date, entry=lambda item, guid: _entry(item, guid, base, shared)
    )


def _guid(item: Json) -> str:
    """As in every other format: the id, else the link, else title and date."""
    link = _text(item, "url") or _text(item, "external_url")
    date = _text(item, "date_published") or _text(item, "date_modified")
    return identity(
        {"id": _number(item, "id"), "link": link, "title": _text(item, "title"), "published": date}
    )


def _words(item: Json) -> str:
    keys = ("title", "content_html", "content_text", "url", "external_url")
    return next(filter(None, (_text(item, key).strip() for key in keys)), "")


def _date(item: Json) -> datetime | None:
    return moment_of(item.get("date_published")) or moment_of(item.get("date_modified"))


def _entry(item: Json, guid: str, base: str, shared: Entry) -> Entry:
    """`shared` has what counts where an item does not say otherwise: the feed's authors and language."""
    image = absolute(_text(item, "image"), base) or absolute(_text(item, "banner_image"), base)
    media = tuple(_media(item, base))
    return Entry(
        guid=guid,
        title=shortened(one_line(_text(item, "title")[: 10 * MAX_TITLE]), MAX_TITLE),
        link=_link(item, base),
        authors=listed(_authors(item)) or shared.authors,
        content=_html(item, "content_html") or paragraphs(_html(item, "content_text")),
        summary=paragraphs(_html(item, "summary")),
        published=_date(item),
        updated=moment_of(item.get("date_modified")),
        categories=listed(tag for tag in _list(item, "tags") if _is_text(tag)),
        media=media,
        language=language(_text(item, "language")) or shared.language,
        image=image or next((medium.url for medium in media if medium.is_image), ""),
        announce=announced(_hints(item))[0],
        slack=slack_of(
            _text(item, "date_published" if moment_of(item.get("date_published")) else "date_modified")
        ),
    )


def _link(item: Json, base: str) -> str:
    """Its own page; else the page that it is about; else its id where that is an address."""
    links = (absolute(_text(item, key), base) for key in ("url", "external_url"))
    guid = _text(item, "id")
    own = absolute(guid, "") if guid.startswith(("http://", "https://")) else ""
    return next(filter(None, links), own)


def _html(item: Json, key: str) -> str:
    return bounded(without_controls(_text(item, key)), MAX_CONTENT).strip()


def _authors(item: Json) -> Iterator[str]:
    """1.1 has a list, 1.0 one; feeds in the wild have names where objects should be."""
    authors = item.get("authors") or item.get("author")
    for author in authors if isinstance(authors, list) else [authors]:
        if isinstance(author, dict):
            yield _text(author, "name") or _text(author, "url")
        elif _is_text(author):
            yield author


def _media(item: Json, base: str) -> Iterator[Media]:
    """Each address once, at most fifty."""
    found: set[str] = set()
    for one in _list(item, "attachments"):
        url = absolute(_text(one, "url"), base) if isinstance(one, dict) else ""
        if url and url not in found and len(found) < MAX_MEDIA:
            found.add(url)
            alt = shortened(one_line(_text(one, "title")), MAX_ALT)
            yield Media(url, type_of(_text(one, "mime_type")), length_of(_number(one, "size_in_bytes")), alt)


def _hints(item: Json) -> Iterator[Hint]:
    """As an extension of JSON Feed: {"_iffy": {"hint_announce": {"policy": …, "restriction": …}}}."""
    extension = item.get("_iffy")
    hints = extension.get("hint_announce") if isinstance(extension, dict) else None
    for hint in hints if isinstance(hints, list) else [hints]:
        if isinstance(hint, dict):
            yield Hint(_text(hint, "policy"), restricted="restriction" in hint)


def _unknown_hints(items: Iterable[Json]) -> Iterator[str]:
    policies = (announced(_hints(item))[1] for item in items if "_iffy" in item)
    if unknown := next(filter(None, policies), ""):
        yield UNKNOWN.format(unknown)


def _channel(document: Json, url: str) -> Channel:
    hubs = [hub for hub in _list(document, "hubs") if isinstance(hub, dict)]
    return Channel(
        hubs=channels.hubs((hub.get("url") for hub in hubs if _text(hub, "type").lower() == "websub"), url),
        topic=absolute(_text(document, "feed_url"), url),
        image=absolute(_text(document, "icon"), url) or absolute(_text(document, "favicon"), url),
    )


def _text(values: Json, key: str) -> str:
    """A text; "" for anything else."""
    value = values.get(key)
    return value if _is_text(value) else ""


def _is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str) and not isinstance(value, Number)


def _number(values: Json, key: str) -> str:
    """A number's text, or a text: §Items says that an id may be either."""
    value = values.get(key)
    return str(value) if isinstance(value, str) else ""


def _list(values: Json, key: str) -> list[Any]:
    value = values.get(key)
    return value if isinstance(value, list) else []


def is_it(document: Any) -> bool:
    """Whether a JSON document is an ActivityPub actor or object (W3C ActivityPub, 3)."""
    context = document.get("@context") if isinstance(document, dict) else None
    return any(
        isinstance(one, str) and CONTEXT in one
        for one in (context if isinstance(context, list) else [context])
    )


def message(document: Mapping[str, Any]) -> str:
    """What it is, and where its feed usually is; with its own address if it names one."""
    is_actor = document.get("type") in ACTORS if isinstance(document.get("type"), str) else False
    profile = absolute(_address(document.get("url")), "") if is_actor else ""
    shown = f"{profile}.rss" if profile and len(profile) <= MAX_SHOWN else "https://mastodon.example/@ada.rss"
    return MESSAGE.format("a profile, called an actor" if is_actor else "an object, such as a post", shown)


def _address(url: Any) -> str:
    """An address, a link object, or the first of a list of them."""
    first = url[0] if isinstance(url, list) and url else url
    href = first.get("href") if isinstance(first, dict) else first
    return shortened(href, 2 * MAX_SHOWN) if isinstance(href, str) else ""
