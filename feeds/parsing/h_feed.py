"""A web page that is its own feed: h-feed and h-entry (microformats.org/wiki/h-feed), read by mf2py.

Only the classes that we read are left in a stranger's page: mf2py reads a microformat once for each property
that it is of another one, and two property names on each of thirty nested ones are a thousand million
readings.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.element import AttributeValueList

from common.html.balance import balance
from common.html.clean import bounded, plain
from common.text import one_line, shortened, without_controls, words
from feeds.parsing import channels, format
from feeds.parsing.dates import moment_of, slack_of
from feeds.parsing.discovery import decoded
from feeds.parsing.entry import Channel, Entry, Media, ParsedFeed, ParseError
from feeds.parsing.fields import MAX_CONTENT, MAX_TITLE, identity, language, listed
from feeds.parsing.format import WEB_PAGE
from feeds.parsing.media import MAX_ALT, MAX_MEDIA, absolute
from feeds.parsing.plain_html import paragraphs
from feeds.parsing.posts import Reader, read_posts

MAX_PAGE = 1_000_000
MAX_TAGS = 40_000
MAX_ROOTS = 4
MAX_PROPERTIES = 6

ROOTS = words("h-feed h-entry h-card h-cite")
EMBEDDED = "e-content"
PROPERTIES = words(
    "p-name u-url u-uid p-summary e-content p-content dt-published dt-updated p-author u-author p-category"
    " u-category u-photo u-featured u-video u-audio p-entry"
)
MAX_NESTING = 8
MAX_FEED_NAME = 200
MEDIA = {"photo": "image", "featured": "image", "video": "video", "audio": "audio"}
_TITLE = re.compile(r"<title[^>]*>([^<]{0,2000})</title", re.IGNORECASE)
_CUT = re.compile(r"(?:…|\.\.\.|\[…\])\s*$")


def microformats(html: str, url: str) -> dict[str, Any]:
    """What mf2py finds in a page at `url`: its `items` and `rels`, and the page's `lang`.

    Raises whatever mf2py does. Nothing is fetched: that it does only when it is given no document.
    """
    # Slow to load, and hardly ever needed.
    import mf2py

    beginning = "<".join(html[:MAX_PAGE].split("<", MAX_TAGS)[:MAX_TAGS])
    # Balanced, it needs none of the mending that makes html5lib slow (minutes for a megabyte of "<").
    page = BeautifulSoup(balance(beginning), "html.parser")
    for child in _child_tags(page):
        _prune(child, roots=0, properties=0, embedded=False)
    parser = mf2py.Parser(doc=page, url=url)
    found: dict[str, Any] = parser.to_dict()
    return {"items": found["items"], "rels": found["rels"], "lang": parser.lang}


def _prune(element: Tag, *, roots: int, properties: int, embedded: bool) -> None:
    """Takes the classes away that are not read, here and below: classic microformats (hentry) among them."""
    kept = _kept(element, roots=roots, properties=properties, embedded=embedded)
    if "class" in element.attrs:
        element["class"] = AttributeValueList(kept)
    roots += any(one in ROOTS for one in kept)
    properties += any(one in PROPERTIES for one in kept)
    embedded = embedded or EMBEDDED in kept
    for child in _child_tags(element):
        _prune(child, roots=roots, properties=properties, embedded=embedded)


def _kept(element: Tag, *, roots: int, properties: int, embedded: bool) -> list[str]:
    names = list(dict.fromkeys(name for name in element.get_attribute_list("class") if name))
    kinds = [name for name in names if name in ROOTS][:1] if roots < MAX_ROOTS else []
    said = [name for name in names if name in PROPERTIES] if properties < MAX_PROPERTIES else []
    if embedded:
        said = [name for name in said if name != EMBEDDED]
    # What value-class-pattern reads: without it, dates are incomplete.
    values = [name for name in names if name in ("value", "value-title")]
    return [*kinds, *(said[:1] if kinds else said), *values]


def _child_tags(element: Tag) -> list[Tag]:
    return [child for child in element.children if isinstance(child, Tag)]


Item = Mapping[str, Any]


def read(body: bytes, *, content_type: str, url: str, limit: int) -> ParsedFeed:
    """As `feeds.parsing.document.parse`, of html: a page with an h-feed, or h-entries that have a url."""
    if not format.has_posts(body):
        raise ParseError(WEB_PAGE)
    html = decoded(body, content_type)
    page = _parsed(html, url)
    tongue, place = language(page["lang"]), absolute(url, "")
    feed = next(_found(page["items"], "h-feed"), None)
    entries = list(_found(_children(feed) if feed else page["items"], "h-entry"))
    entries = entries or list(_found(page["items"], "h-entry"))
    if feed is None and not any(_link(entry, url) for entry in entries):
        raise ParseError(WEB_PAGE)
    cards = dict(_cards(page["items"], url))
    shared = Entry("", authors=_authors(feed, url, cards) if feed else (), language=tongue)
    posts = read_posts(entries, _reader(url, shared, cards), limit=limit)
    return ParsedFeed(
        title=_name_of(feed) or shortened(plain(_page_title(html)), MAX_TITLE),
        link=(_link(feed, url) if feed else "") or place,
        language=tongue,
        guids=posts.guids,
        names=posts.names,
        entries=posts.entries,
        warnings=posts.warnings,
        channel=_channel(page["rels"], feed, url),
    )


def _parsed(html: str, url: str) -> dict[str, Any]:
    try:
        return microformats(html, url)
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        # Pages break mf2py in as many ways as feeds break feedparser.
        raise ParseError(WEB_PAGE) from error


def _found(items: object, kind: str, depth: int = 0) -> Iterator[Item]:
    """The microformats of a kind, in the page's order, but none that stands within another of its kind."""
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict) or depth > MAX_NESTING:
            continue
        if kind in (item.get("type") or ()):
            yield item
        else:
            yield from _found(item.get("children"), kind, depth + 1)


def _children(feed: Item) -> list[Any]:
    """Entries are its children; some call them its property `entry`."""
    return [*(feed.get("children") or ()), *_values(feed, "entry")]


def _cards(items: object, url: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The address and the name of every h-card, wherever it stands; of one address the last."""
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict) or depth > MAX_NESTING:
            continue
        name = one_line(_text_of(item, "name")[: 10 * MAX_TITLE])
        if "h-card" in (item.get("type") or ()) and name:
            yield from ((address, name) for key in ("url", "uid") if (address := _at(item, key, url)))
        yield from _cards(item.get("children"), url, depth + 1)
        yield from _cards(_values(item, "author"), url, depth + 1)
        yield from _cards(_values(item, "entry"), url, depth + 1)


def _at(item: Item, key: str, url: str) -> str:
    return next(filter(None, (absolute(_address(value), url) for value in _values(item, key))), "")


def _reader(url: str, shared: Entry, cards: Mapping[str, str]) -> Reader[Item]:
    return Reader(
        guid=lambda item: _guid(item, url),
        words=lambda item: _title(item) or _content_text(item) or _link(item, url),
        date=_date,
        entry=lambda item, guid: _entry(item, guid, url, shared, cards),
    )


def _guid(item: Item, url: str) -> str:
    date = _text_of(item, "published") or _text_of(item, "updated")
    title = _title(item) or one_line(_content_text(item))
    guid = _text_of(item, "uid") or _link(item, url)
    return identity({"id": guid, "link": "", "title": shortened(title, MAX_TITLE), "published": date})


def _date(item: Item) -> datetime | None:
    return moment_of(_text_of(item, "published")) or moment_of(_text_of(item, "updated"))


def _entry(item: Item, guid: str, url: str, shared: Entry, cards: Mapping[str, str]) -> Entry:
    """`shared` has what counts where an entry does not say otherwise: authors and language.

    `cards` are the page's h-cards: names by address.
    """
    media = tuple(_media(item, url))
    featured = next((absolute(_address(value), url) for value in _values(item, "featured")), "")
    content = bounded(without_controls(_content(item)), MAX_CONTENT).strip()
    return Entry(
        guid=guid,
        title=_title(item),
        link=_link(item, url),
        authors=_authors(item, url, cards) or shared.authors,
        content=content,
        summary=paragraphs(without_controls(_text_of(item, "summary"))[:MAX_CONTENT].strip()),
        published=_date(item),
        updated=moment_of(_text_of(item, "updated")),
        categories=listed(_author(value) for value in _values(item, "category")),
        media=media,
        language=_content_language(item) or language(item.get("lang")) or shared.language,
        image=featured or next((medium.url for medium in media if medium.is_image), ""),
        base=absolute(url, ""),
        slack=slack_of(_text_of(item, "published" if moment_of(_text_of(item, "published")) else "updated")),
    )


def _link(item: Item, url: str) -> str:
    links = (absolute(_address(value), url) for key in ("url", "uid") for value in _values(item, key))
    return next(filter(None, links), "")


def _title(item: Item) -> str:
    """The name; none where it merely repeats the text, as the implied name of a note does."""
    name, content = one_line(_text_of(item, "name")[: 10 * MAX_TITLE]), one_line(_content_text(item))
    beginning = _CUT.sub("", name).strip()
    if name and (name == content or (beginning != name and content.startswith(beginning))):
        return ""
    return shortened(name, MAX_TITLE)


def _content(item: Item) -> str:
    """e-content's html; p-content is text."""
    value = next(iter(_values(item, "content")), "")
    return str(value.get("html") or "") if isinstance(value, dict) else paragraphs(str(value))


def _content_text(item: Item) -> str:
    value = next(iter(_values(item, "content")), "")
    return _plain(value)[: 100 * MAX_TITLE]


def _content_language(item: Item) -> str:
    value = next(iter(_values(item, "content")), "")
    return language(value.get("lang")) if isinstance(value, dict) else ""


def _media(item: Item, url: str) -> Iterator[Media]:
    found: set[str] = set()
    for key, kind in MEDIA.items():
        for value in _values(item, key):
            address = absolute(_address(value), url)
            if address and address not in found and len(found) < MAX_MEDIA:
                found.add(address)
                alt = value.get("alt") if isinstance(value, dict) else ""
                yield Media(address, kind, None, shortened(one_line(str(alt or "")), MAX_ALT))


def _authors(item: Item, url: str, cards: Mapping[str, str]) -> tuple[str, ...]:
    """An author may be an address: then the name is on its h-card (indieweb.org/authorship, 5 to 7)."""
    names = map(_author, _values(item, "author"))
    return listed(cards.get(absolute(name, url), name) if _is_address(name) else name for name in names)


def _is_address(name: str) -> bool:
    return name.startswith(("http://", "https://"))


def _author(value: object) -> str:
    """A text, or the name of an h-card."""
    if isinstance(value, dict):
        return _text_of(value, "name") or _plain(value)
    return _plain(value)


def _name_of(feed: Item | None) -> str:
    """The feed's own name; an implied one that is all of the page's text is none."""
    name = one_line(_text_of(feed, "name")[: 10 * MAX_TITLE]) if feed else ""
    return name if len(name) <= MAX_FEED_NAME else ""


def _page_title(html: str) -> str:
    match = _TITLE.search(html)
    return match.group(1) if match else ""


def _channel(rels: Mapping[str, Any], feed: Item | None, url: str) -> Channel:
    photos = (absolute(_address(value), url) for value in _values(feed, "photo")) if feed else iter(())
    return Channel(
        hubs=channels.hubs(rels.get("hub") or (), url),
        topic=next(filter(None, (absolute(one, url) for one in rels.get("self") or ())), ""),
        image=next(filter(None, photos), ""),
    )


def _values(item: Item, key: str) -> list[Any]:
    properties = item.get("properties")
    value = properties.get(key) if isinstance(properties, dict) else None
    return value if isinstance(value, list) else []


def _text_of(item: Item, key: str) -> str:
    return _plain(next(iter(_values(item, key)), ""))


def _plain(value: object) -> str:
    """A property's text: of a microformat or of e-*, its value."""
    text = value.get("value") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


def _address(value: object) -> str:
    """An address; of an image with alt its value, of a microformat (h-cite) its url."""
    if isinstance(value, dict):
        return next((one for one in _values(value, "url") if isinstance(one, str)), "") or _plain(value)
    return _plain(value)
