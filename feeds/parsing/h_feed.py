"""Web pages as feeds (microformats.org/wiki/h-feed).

Unknown classes are removed: mf2py parses nested microformats once per property name, so two names on thirty
nested ones take 10⁹ readings.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bs4 import BeautifulSoup, Tag
from bs4.element import AttributeValueList

from common.formats.written_dates import parsed_moment, slack_of
from common.html.balance import balance
from common.html.clean import bounded
from common.html.titles import plain_title
from common.text import one_line, shortened, without_controls, words
from feeds.parsing import entry, format
from feeds.parsing.discovery import MAX_PAGE, decoded
from feeds.parsing.entry import Channel, Entry, Media, ParsedFeed, ParseError, Person, Social
from feeds.parsing.fields import MAX_CONTENT, MAX_ENTRY_TITLE, identity, language
from feeds.parsing.format import PAGE_NOT_FEED
from feeds.parsing.h_social import (
    MAX_NESTING,
    REFERRING,
    Microformat,
    address_of,
    cards_of,
    content_text,
    found_in,
    link_of,
    photo_of,
    plain_of,
    social_of,
    text_of,
    title_of,
    values_of,
)
from feeds.parsing.media import MAX_ALT, absolute, distinct
from feeds.parsing.people import author_names, listed
from feeds.parsing.posts import PostReader, hub_addresses, paragraphs, read_posts

MAX_PAGE_TAGS = 40_000
MAX_ROOTS = 4
MAX_PAGE_ENTRIES = 50
MAX_PROPERTIES = 6

ROOTS = words("h-feed h-entry h-card h-cite")
EMBEDDED = "e-content"
PROPERTIES = words(
    "p-name u-url u-uid p-summary e-content p-content dt-published dt-updated p-author u-author p-category"
    " u-category u-photo u-featured u-video u-audio p-entry"
)
# A second parse, as these names change mf2py's implied name and url, and so the post's identity.
SOCIAL_ROOTS = ROOTS | words("h-adr h-geo")
SOCIAL_PROPERTIES = PROPERTIES | words(
    " ".join(f"{kind}-{relation}" for relation in REFERRING for kind in "up")
    + " p-rsvp u-checkin p-checkin u-syndication dt-start dt-end p-location u-location p-latitude p-longitude"
    " p-geo"
)
Vocabulary = tuple[frozenset[str], frozenset[str]]
POST_WORDS: Vocabulary = (ROOTS, PROPERTIES)
SOCIAL_WORDS: Vocabulary = (SOCIAL_ROOTS, SOCIAL_PROPERTIES)
# https://microformats.org/wiki/h-app
APP_WORDS: Vocabulary = (words("h-app h-x-app"), words("p-name u-url u-logo u-photo"))
_SOCIAL = re.compile("|".join(sorted(map(re.escape, SOCIAL_PROPERTIES - PROPERTIES))))
MAX_FEED_NAME = 200
MEDIA = {"photo": "image", "featured": "image", "video": "video", "audio": "audio"}
_TITLE = re.compile(r"<title[^>]*>([^<]{0,2000})</title", re.IGNORECASE)


def microformats(html: str, url: str, known: Vocabulary = POST_WORDS) -> dict[str, Any]:
    """Return mf2py's `items`, `rels` and `lang`. Fetches nothing; raises mf2py's errors."""
    # Loads slowly.
    import mf2py

    beginning = "<".join(html[:MAX_PAGE].split("<", MAX_PAGE_TAGS)[:MAX_PAGE_TAGS])
    # Avoids html5lib's repairs (minutes for a megabyte of "<").
    page = BeautifulSoup(balance(beginning), "html.parser")
    for child in _child_tags(page):
        _prune(child, known, roots=0, properties=0, embedded=False)
    parser = mf2py.Parser(doc=page, url=url)
    document: dict[str, Any] = parser.to_dict()
    return {"items": document["items"], "rels": document["rels"], "lang": parser.lang}


def _prune(element: Tag, known: Vocabulary, *, roots: int, properties: int, embedded: bool) -> None:
    """Remove unknown and classic (hentry) classes."""
    names = list(dict.fromkeys(name for name in element.get_attribute_list("class") if name))
    kinds = [name for name in names if name in known[0]][:1] if roots < MAX_ROOTS else []
    property_names = [name for name in names if name in known[1]] if properties < MAX_PROPERTIES else []
    if embedded:
        property_names = [name for name in property_names if name != EMBEDDED]
    # For value-class-pattern.
    values = [name for name in names if name in ("value", "value-title")]
    kept = [*kinds, *(property_names[:1] if kinds else property_names), *values]
    if "class" in element.attrs:
        element["class"] = AttributeValueList(kept)
    roots += any(one in known[0] for one in kept)
    properties += any(one in known[1] for one in kept)
    embedded = embedded or EMBEDDED in kept
    for child in _child_tags(element):
        _prune(child, known, roots=roots, properties=properties, embedded=embedded)


def _child_tags(element: Tag) -> list[Tag]:
    return [child for child in element.children if isinstance(child, Tag)]


def read_h_feed(body: bytes, *, content_type: str, url: str, limit: int) -> ParsedFeed:
    """Parse a page with an h-feed, or with h-entries that have a url."""
    if not format.has_posts(body):
        raise ParseError(PAGE_NOT_FEED)
    html = decoded(body, content_type)
    try:
        page = microformats(html, url)
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        # mf2py fails in many ways on broken pages.
        raise ParseError(PAGE_NOT_FEED) from error
    feed, entries = _entries(page["items"])
    if feed is None and not any(link_of(entry, url) for entry in entries):
        raise ParseError(PAGE_NOT_FEED)
    reader = _reader(page, feed, url)
    posts = read_posts(_with_social(entries, html, url), reader, limit=limit)
    name = one_line(text_of(feed, "name")[: 10 * MAX_ENTRY_TITLE]) if feed else ""
    if not name or len(name) > MAX_FEED_NAME:
        # A name this long is implied: it is the page's text.
        match = _TITLE.search(html)
        name = shortened(plain_title(match.group(1) if match else ""), MAX_ENTRY_TITLE)
    photos = (absolute(address_of(value), url) for value in values_of(feed, "photo")) if feed else iter(())
    return replace(
        posts,
        title=name,
        link=(link_of(feed, url) if feed else "") or absolute(url, ""),
        language=reader.shared.language,
        channel=Channel(
            hubs=hub_addresses(page["rels"].get("hub") or (), url),
            topic=next(filter(None, (absolute(one, url) for one in page["rels"].get("self") or ())), ""),
            image=next(filter(None, photos), ""),
        ),
    )


def read_entries(html: str, url: str) -> tuple[Entry, ...]:
    try:
        page = microformats(html, url, SOCIAL_WORDS)
    except (MemoryError, KeyboardInterrupt, ParseError):
        raise
    except Exception:  # noqa: BLE001 - as above
        return ()
    posts = list(found_in(page["items"], "h-entry"))[:MAX_PAGE_ENTRIES]
    reader = _reader(page, next(found_in(page["items"], "h-feed"), None), url)
    return tuple(reader.entry({**post, "social": post}, "") for post in posts)


def _reader(page: Mapping[str, Any], feed: Microformat | None, url: str) -> "PageReader":
    cards = dict(_cards(page["items"], url))
    names = {address: card.name for address, card in cards.items()}
    owners = Social(people=cards_of(feed, url, cards) if feed else ())
    authors = _authors(feed, url, names) if feed else ()
    shared = Entry("", authors=authors, language=language(page["lang"]), social=owners)
    return PageReader(url, shared, names, cards)


def _entries(items: list[Any]) -> tuple[Microformat | None, list[Microformat]]:
    feed = next(found_in(items, "h-feed"), None)
    children = [*(feed.get("children") or ()), *values_of(feed, "entry")] if feed else items
    return feed, list(found_in(children, "h-entry")) or list(found_in(items, "h-entry"))


def _with_social(entries: list[Microformat], html: str, url: str) -> list[Microformat]:
    if not _SOCIAL.search(html):
        return entries
    entry.check_allowance()
    try:
        _, seen = _entries(microformats(html, url, SOCIAL_WORDS)["items"])
    except (MemoryError, KeyboardInterrupt, ParseError):
        raise
    except Exception:  # noqa: BLE001 - as in the first look; the posts are there without it
        return entries
    if len(seen) != len(entries):
        return entries
    return [{**entry, "social": other} for entry, other in zip(entries, seen, strict=True)]


def _cards(items: object, url: str, depth: int = 0) -> Iterator[tuple[str, Person]]:
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict) or depth > MAX_NESTING:
            continue
        name = one_line(text_of(item, "name")[: 10 * MAX_ENTRY_TITLE])
        if "h-card" in (item.get("type") or ()) and name:
            for key in ("url", "uid"):
                addresses = (absolute(address_of(value), url) for value in values_of(item, key))
                if address := next(filter(None, addresses), ""):
                    yield address, Person(name, address, photo_of(item, url))
        yield from _cards(item.get("children"), url, depth + 1)
        yield from _cards(values_of(item, "author"), url, depth + 1)
        yield from _cards(values_of(item, "entry"), url, depth + 1)


@dataclass(frozen=True, slots=True)
class PageReader(PostReader[Microformat]):
    url: str
    shared: Entry
    names: Mapping[str, str]
    cards: Mapping[str, Person]

    def guid(self, post: Microformat) -> str:
        date = text_of(post, "published") or text_of(post, "updated")
        title = shortened(title_of(post) or one_line(content_text(post)), MAX_ENTRY_TITLE)
        guid = text_of(post, "uid") or link_of(post, self.url)
        return identity({"id": guid, "link": "", "title": title, "published": date})

    def words(self, post: Microformat) -> str:
        return title_of(post) or content_text(post) or link_of(post, self.url)

    def date(self, post: Microformat) -> datetime | None:
        return parsed_moment(text_of(post, "published")) or parsed_moment(text_of(post, "updated"))

    def entry(self, post: Microformat, guid: str) -> Entry:
        media = distinct(
            Media(
                absolute(address_of(value), self.url),
                kind,
                alt=shortened(one_line(str(value.get("alt") or "")), MAX_ALT)
                if isinstance(value, dict)
                else "",
            )
            for key, kind in MEDIA.items()
            for value in values_of(post, key)
        )
        featured = next((absolute(address_of(value), self.url) for value in values_of(post, "featured")), "")
        # p-content is text.
        text = next(iter(values_of(post, "content")), "")
        marked_up = text if isinstance(text, dict) else {}
        html = str(marked_up.get("html") or "") if isinstance(text, dict) else paragraphs(str(text))
        published, updated = (parsed_moment(text_of(post, key)) for key in ("published", "updated"))
        return Entry(
            guid=guid,
            title=title_of(post),
            link=link_of(post, self.url),
            authors=_authors(post, self.url, self.names) or self.shared.authors,
            content=bounded(without_controls(html), MAX_CONTENT).strip(),
            summary=paragraphs(without_controls(text_of(post, "summary"))[:MAX_CONTENT].strip()),
            published=published or updated,
            updated=updated,
            categories=listed(_author(value) for value in values_of(post, "category")),
            media=media,
            language=language(marked_up.get("lang")) or language(post.get("lang")) or self.shared.language,
            image=featured or next((one.url for one in media if one.is_image), ""),
            base=absolute(self.url, ""),
            slack=slack_of(text_of(post, "published" if published else "updated")),
            social=social_of(post, self.url, self.cards, self.shared.social.people),
        )


def _authors(item: Microformat, url: str, cards: Mapping[str, str]) -> tuple[str, ...]:
    """Look up addresses in h-cards (indieweb.org/authorship, 5 to 7)."""
    texts = map(_author, values_of(item, "author"))
    return author_names(
        cards.get(absolute(text, url), text) if text.startswith(("http://", "https://")) else text
        for text in texts
    )


def _author(value: object) -> str:
    if isinstance(value, dict):
        return text_of(value, "name") or plain_of(value)
    return plain_of(value)
