"""A web page → addresses that may be feeds. Whether they are shows when they are read."""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urldefrag, urljoin, urlsplit

from common.html import plain
from common.text import shortened, words
from feeds.parsing.comment_feeds import is_comment_feed
from feeds.parsing.media import absolute
from feeds.parsing.page_tags import Tag, tags

MAX_PAGE = 1_000_000
MAX_LINKS = 50
MAX_ANCHORS = 10
MAX_READ_ANCHORS = 5_000
MAX_TITLE = 200
ANCHOR_TEXT = 300

FEED_TYPES = words(
    "application/rss+xml application/atom+xml application/feed+json application/rdf+xml application/rss"
    " application/x.atom+xml application/x-atom+xml text/rss+xml text/atom+xml"
)
# Said of feeds and of much else.
VAGUE_TYPES = words("application/xml text/xml application/json")
WELL_KNOWN = ("feed", "feed.xml", "rss.xml", "atom.xml", "index.xml", "rss", "blog/feed", "feed.json")
# Where a part of a site (https://example.org/~ada/) keeps its own.
WELL_KNOWN_BELOW = ("feed", "feed.xml", "index.xml")

_PAGE_START = re.compile(rb"<(!doctype\s+html|[a-z][a-z0-9:-]{0,40})", re.IGNORECASE)
_PAGE_ELEMENTS = frozenset(
    b"html head body title meta link script style base div header main article section nav p h1 a".split()
)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9._:-]{1,40})", re.IGNORECASE)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([a-zA-Z0-9._:-]{1,40})", re.IGNORECASE)
_CODECS = re.compile(
    r"utf-8|utf-16(?:-[lb]e)?|cp125\d|cp866|cp874|iso8859-\d+|koi8-[ru]|mac-roman|gbk|gb2312|gb18030|big5"
    r"|euc_jp|shift_jis|iso2022_jp|euc_kr"
)
_FEED_PATH = re.compile(
    r"\.(?:rss|atom|rdf)$|(?:^|/)(?:feed|feeds|rss|rss2|atom|index|posts|blog|news)\.(?:xml|json)$"
    r"|(?:^|/)(?:feed|rss|rss2|atom)/?$|/feeds/posts/default$",
    re.IGNORECASE,
)
_FEED_QUERY = re.compile(
    r"(?:^|&)(?:(?:feed|format|type|alt|output)=(?:rss2?|atom|feed|rdf)|(?:feed|rss|atom)(?:&|=|$))",
    re.IGNORECASE,
)
_FEED_WORDS = re.compile(r"\b(?:rss|atom|web ?feed|json ?feed)\b|^\W*feed\W*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Link:
    """An address that may be a feed's, and what the page calls it."""

    url: str
    title: str = ""

    @property
    def is_comments(self) -> bool:
        return is_comment_feed(self.url, self.title)


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says of feeds: `links` are declared, `anchors` look like it, `has_posts` is h-feed's."""

    title: str = ""
    links: tuple[Link, ...] = ()
    anchors: tuple[Link, ...] = ()
    has_posts: bool = False


def is_page(body: bytes, content_type: str = "") -> bool:
    """Whether this is html; feeds that are served as html are not."""
    start = _PAGE_START.search(body[:20_000].replace(b"\0", b""))
    name = start.group(1).lower() if start else b""
    if name.startswith(b"!doctype") or name in _PAGE_ELEMENTS:
        return True
    return name not in (b"rss", b"feed", b"rdf", b"rdf:rdf", b"atom:feed") and "html" in content_type.lower()


def decoded(body: bytes, content_type: str = "") -> str:
    """The page's text, at most 1 MB of it; what cannot be decoded is replaced."""
    body = body[:MAX_PAGE]
    said = _CHARSET.search(content_type)
    meta = _META_CHARSET.search(body[:4096])
    names = [said.group(1) if said else "", meta.group(1).decode("ascii") if meta else ""]
    return body.decode(next(filter(None, map(_codec, names)), "utf-8"), "replace")


def _codec(name: str) -> str:
    """The name of a codec that the web uses for text; "" for others, of which some are slow or no text."""
    try:
        known = codecs.lookup(name).name if name else ""
    except (LookupError, ValueError):
        return ""
    # WHATWG Encoding §4.2: these labels mean windows-1252 on the web.
    known = {"iso8859-1": "cp1252", "ascii": "cp1252"}.get(known, known)
    return known if _CODECS.fullmatch(known) else ""


def read_page(html: str, url: str) -> Page:
    """The feeds that a page at `url` names, in its order, each address once."""
    html = html[:MAX_PAGE]
    base, title, has_posts = url, "", False
    links: list[Link] = []
    anchors: list[tuple[Tag, str]] = []
    for tag in tags(html):
        if tag.name == "base" and base == url:
            base = absolute(tag.get("href"), url) or url
        elif tag.name == "title" and not title:
            title = _title(html[tag.end : tag.raw_end])
        elif tag.name == "link" and _declares_feed(tag):
            links.append(Link(tag.get("href"), _title(tag.get("title"))))
        elif tag.name == "a" and len(anchors) < MAX_READ_ANCHORS and "href" in tag.attributes:
            anchors.append((tag, html[tag.end : tag.end + ANCHOR_TEXT]))
        has_posts = has_posts or not {"h-feed", "h-entry"}.isdisjoint(tag.tokens("class"))
    return Page(
        title=title,
        links=tuple(_resolved(links, base, url))[:MAX_LINKS],
        anchors=tuple(_resolved(_feed_anchors(anchors, url), base, url))[:MAX_ANCHORS],
        has_posts=has_posts,
    )


def _declares_feed(tag: Tag) -> bool:
    """<link rel=alternate type=…>, and <link rel=feed> whatever its type (WHATWG: microformats' rel)."""
    rel, href = tag.tokens("rel"), tag.get("href")
    if not href or "stylesheet" in rel:
        return False
    type_ = tag.get("type").partition(";")[0].strip().lower()
    if "feed" in rel:
        return True
    if not {"alternate", "alternative"} & rel:
        return False
    return type_ in FEED_TYPES or (type_ in VAGUE_TYPES | {""} and looks_like_feed(href))


def looks_like_feed(href: str) -> bool:
    """Whether an address is one that feeds tend to have."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    return bool(_FEED_PATH.search(parts.path) or _FEED_QUERY.search(parts.query))


def _feed_anchors(anchors: Iterable[tuple[Tag, str]], url: str) -> Iterator[Link]:
    for tag, following in anchors:
        href = tag.get("href")
        text = following.partition("</a")[0]
        said = any(name in text.lower() for name in ("rss", "atom", "feed"))
        label = _title(text) if said else ""
        typed = tag.get("type").partition(";")[0].strip().lower() in FEED_TYPES
        if typed or looks_like_feed(href) or (label and len(label) <= 40 and _FEED_WORDS.search(label)):
            yield Link(href, label or _title(tag.get("title")))


def _resolved(links: Iterable[Link], base: str, url: str) -> Iterator[Link]:
    """With absolute addresses, without those that lead back to the page, each once."""
    seen = {urldefrag(url).url}
    for link in links:
        address = urldefrag(absolute(link.url, base)).url
        if address and address not in seen:
            seen.add(address)
            yield Link(address, link.title)


def _title(text: str) -> str:
    return shortened(plain(text), MAX_TITLE)


def well_known(url: str) -> tuple[str, ...]:
    """Where feeds usually are on a site: first beside the page, then at the root."""
    url = urldefrag(url).url.partition("?")[0]
    root = urljoin(url, "/")
    is_file = "." in url.rpartition("/")[2]
    folder = urljoin(url if url.endswith("/") or is_file else url + "/", ".")
    beside = [urljoin(folder, path) for path in WELL_KNOWN_BELOW] if folder != root else []
    return tuple(dict.fromkeys([*beside, *(urljoin(root, path) for path in WELL_KNOWN)]))


def format_of(body: bytes) -> str:
    """What a document that was read as a feed calls itself, for people."""
    head = body[:20_000].replace(b"\0", b"")
    if head.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n")[:1] in (b"{", b"["):
        return "JSON Feed"
    if found := re.search(rb"<(rss|feed|rdf:rdf|rdf|atom:feed)(?=[\s>])([^>]{0,2000})", head, re.IGNORECASE):
        name = found.group(1).lower()
        if name == b"rss":
            version = re.search(rb"version\s*=\s*[\"']([0-9.]{1,8})", found.group(2))
            return f"RSS {version.group(1).decode()}" if version else "RSS"
        return "RSS 1.0" if b"rdf" in name else "Atom"
    return "the page itself (h-feed)"
