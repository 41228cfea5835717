"""A web page that is its own feed: h-feed and h-entry (microformats.org/wiki/h-feed), read by mf2py.

Only the classes that we read are left in a stranger's page. mf2py reads a nested microformat once for each
property name that it has, so two names on each of thirty nested ones are a thousand million readings.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.element import AttributeValueList

from common.html.balance import balance
from common.html.clean import bounded, plain
from common.text import one_line, shortened, without_controls, words
from feeds.parsing import channels, format
from feeds.parsing.dates import moment_of, slack_of
from feeds.parsing.discovery import MAX_PAGE, decoded
from feeds.parsing.entry import Channel, Entry, Media, ParsedFeed, ParseError
from feeds.parsing.fields import MAX_CONTENT, MAX_ENTRY_TITLE, identity, language, listed
from feeds.parsing.format import PAGE_NOT_FEED
from feeds.parsing.media import MAX_ALT, absolute, distinct
from feeds.parsing.plain_html import paragraphs
from feeds.parsing.posts import PostReader, read_posts

MAX_PAGE_TAGS = 40_000
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

    Raises whatever mf2py raises. Nothing is fetched: mf2py fetches only when it is given no document.
    """
    # Slow to load, and hardly ever needed.
    import mf2py

    beginning = "<".join(html[:MAX_PAGE].split("<", MAX_PAGE_TAGS)[:MAX_PAGE_TAGS])
    # Balanced, it needs none of the mending that makes html5lib slow (minutes for a megabyte of "<").
    page = BeautifulSoup(balance(beginning), "html.parser")
    for child in _child_tags(page):
        _prune(child, roots=0, properties=0, embedded=False)
    parser = mf2py.Parser(doc=page, url=url)
    found: dict[str, Any] = parser.to_dict()
    return {"items": found["items"], "rels": found["rels"], "lang": parser.lang}


def _prune(element: Tag, *, roots: int, properties: int, embedded: bool) -> None:
    """Takes away the classes that are not read, also of what is below: classic microformats (hentry) too."""
    names = list(dict.fromkeys(name for name in element.get_attribute_list("class") if name))
    kinds = [name for name in names if name in ROOTS][:1] if roots < MAX_ROOTS else []
    said = [name for name in names if name in PROPERTIES] if properties < MAX_PROPERTIES else []
    if embedded:
        said = [name for name in said if name != EMBEDDED]
    # What value-class-pattern reads: without it, dates are incomplete.
    values = [name for name in names if name in ("value", "value-title")]
    kept = [*kinds, *(said[:1] if kinds else said), *values]
    if "class" in element.attrs:
        element["class"] = AttributeValueList(kept)
    roots += any(one in ROOTS for one in kept)
    properties += any(one in PROPERTIES for one in kept)
    embedded = embedded or EMBEDDED in kept
    for child in _child_tags(element):
        _prune(child, roots=roots, properties=properties, embedded=embedded)


def _child_tags(element: Tag) -> list[Tag]:
    return [child for child in element.children if isinstance(child, Tag)]


Microformat = Mapping[str, Any]


def read_h_feed(body: bytes, *, content_type: str, url: str, limit: int) -> ParsedFeed:
    """As `feeds.parsing.document.parse`, of html: a page with an h-feed, or h-entries that have a url."""
    if not format.has_posts(body):
        raise ParseError(PAGE_NOT_FEED)
    html = decoded(body, content_type)
    try:
        page = microformats(html, url)
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        # Pages break mf2py in as many ways as feeds break feedparser.
        raise ParseError(PAGE_NOT_FEED) from error
    tongue, place = language(page["lang"]), absolute(url, "")
    feed = next(_found(page["items"], "h-feed"), None)
    # Entries are an h-feed's children; some call them its property `entry`.
    children = [*(feed.get("children") or ()), *_values(feed, "entry")] if feed else page["items"]
    entries = list(_found(children, "h-entry")) or list(_found(page["items"], "h-entry"))
    if feed is None and not any(_link(entry, url) for entry in entries):
        raise ParseError(PAGE_NOT_FEED)
    cards = dict(_cards(page["items"], url))
    shared = Entry("", authors=_authors(feed, url, cards) if feed else (), language=tongue)
    posts = read_posts(entries, PageReader(url, shared, cards), limit=limit)
    name = one_line(_text_of(feed, "name")[: 10 * MAX_ENTRY_TITLE]) if feed else ""
    if not name or len(name) > MAX_FEED_NAME:
        # So long a name is implied: it is all of the page's text.
        match = _TITLE.search(html)
        name = shortened(plain(match.group(1) if match else ""), MAX_ENTRY_TITLE)
    photos = (absolute(_address(value), url) for value in _values(feed, "photo")) if feed else iter(())
    return ParsedFeed(
        title=name,
        link=(_link(feed, url) if feed else "") or place,
        language=tongue,
        guids=posts.guids,
        names=posts.names,
        entries=posts.entries,
        warnings=posts.warnings,
        channel=Channel(
            hubs=channels.hub_addresses(page["rels"].get("hub") or (), url),
            topic=next(filter(None, (absolute(one, url) for one in page["rels"].get("self") or ())), ""),
            image=next(filter(None, photos), ""),
        ),
    )


def _found(items: object, kind: str, depth: int = 0) -> Iterator[Microformat]:
    """The microformats of a kind, in the page's order, without those within another of the same kind."""
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict) or depth > MAX_NESTING:
            continue
        if kind in (item.get("type") or ()):
            yield item
        else:
            yield from _found(item.get("children"), kind, depth + 1)


def _cards(items: object, url: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The address and the name of every h-card, wherever it stands; of one address the last."""
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict) or depth > MAX_NESTING:
            continue
        name = one_line(_text_of(item, "name")[: 10 * MAX_ENTRY_TITLE])
        if "h-card" in (item.get("type") or ()) and name:
            for key in ("url", "uid"):
                addresses = (absolute(_address(value), url) for value in _values(item, key))
                if address := next(filter(None, addresses), ""):
                    yield address, name
        yield from _cards(item.get("children"), url, depth + 1)
        yield from _cards(_values(item, "author"), url, depth + 1)
        yield from _cards(_values(item, "entry"), url, depth + 1)


@dataclass(frozen=True, slots=True)
class PageReader(PostReader[Microformat]):
    """Reads h-entries of a page at `url`.

    `shared` has the authors and the language for entries that have none of their own. `cards` are the page's
    h-cards: names by address.
    """

    url: str
    shared: Entry
    cards: Mapping[str, str]

    def guid(self, post: Microformat) -> str:
        date = _text_of(post, "published") or _text_of(post, "updated")
        title = shortened(_title(post) or one_line(_content_text(post)), MAX_ENTRY_TITLE)
        guid = _text_of(post, "uid") or _link(post, self.url)
        return identity({"id": guid, "link": "", "title": title, "published": date})

    def words(self, post: Microformat) -> str:
        return _title(post) or _content_text(post) or _link(post, self.url)

    def date(self, post: Microformat) -> datetime | None:
        return moment_of(_text_of(post, "published")) or moment_of(_text_of(post, "updated"))

    def entry(self, post: Microformat, guid: str) -> Entry:
        media = distinct(
            Media(
                absolute(_address(value), self.url),
                kind,
                alt=shortened(one_line(str(value.get("alt") or "")), MAX_ALT)
                if isinstance(value, dict)
                else "",
            )
            for key, kind in MEDIA.items()
            for value in _values(post, key)
        )
        featured = next((absolute(_address(value), self.url) for value in _values(post, "featured")), "")
        # e-content has html and a language; p-content is text.
        text = next(iter(_values(post, "content")), "")
        marked_up = text if isinstance(text, dict) else {}
        html = str(marked_up.get("html") or "") if isinstance(text, dict) else paragraphs(str(text))
        published, updated = (moment_of(_text_of(post, key)) for key in ("published", "updated"))
        return Entry(
            guid=guid,
            title=_title(post),
            link=_link(post, self.url),
            authors=_authors(post, self.url, self.cards) or self.shared.authors,
            content=bounded(without_controls(html), MAX_CONTENT).strip(),
            summary=paragraphs(without_controls(_text_of(post, "summary"))[:MAX_CONTENT].strip()),
            published=published or updated,
            updated=updated,
            categories=listed(_author(value) for value in _values(post, "category")),
            media=media,
            language=language(marked_up.get("lang")) or language(post.get("lang")) or self.shared.language,
            image=featured or next((medium.url for medium in media if medium.is_image), ""),
            base=absolute(self.url, ""),
            slack=slack_of(_text_of(post, "published" if published else "updated")),
        )


def _link(item: Microformat, url: str) -> str:
    links = (absolute(_address(value), url) for key in ("url", "uid") for value in _values(item, key))
    return next(filter(None, links), "")


def _title(item: Microformat) -> str:
    """The name; none where it merely repeats the text, as the implied name of a note does."""
    name, content = one_line(_text_of(item, "name")[: 10 * MAX_ENTRY_TITLE]), one_line(_content_text(item))
    beginning = _CUT.sub("", name).strip()
    if name and (name == content or (beginning != name and content.startswith(beginning))):
        return ""
    return shortened(name, MAX_ENTRY_TITLE)


def _content_text(item: Microformat) -> str:
    value = next(iter(_values(item, "content")), "")
    return _plain(value)[: 100 * MAX_ENTRY_TITLE]


def _authors(item: Microformat, url: str, cards: Mapping[str, str]) -> tuple[str, ...]:
    """An author may be an address: then the name is on its h-card (indieweb.org/authorship, 5 to 7)."""
    names = map(_author, _values(item, "author"))
    return listed(
        cards.get(absolute(name, url), name) if name.startswith(("http://", "https://")) else name
        for name in names
    )


def _author(value: object) -> str:
    """A text, or the name of an h-card."""
    if isinstance(value, dict):
        return _text_of(value, "name") or _plain(value)
    return _plain(value)


def _values(item: Microformat, key: str) -> list[Any]:
    properties = item.get("properties")
    value = properties.get(key) if isinstance(properties, dict) else None
    return value if isinstance(value, list) else []


def _text_of(item: Microformat, key: str) -> str:
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
