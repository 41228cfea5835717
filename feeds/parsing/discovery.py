import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from urllib.parse import urldefrag, urljoin, urlsplit

from common.html.clean import plain
from common.html.titles import plain_title
from common.text import one_line, shortened, words
from feeds.parsing.format import Form, form_of, wide_text
from feeds.parsing.media import absolute

MAX_LINK_HEADER = 10_000
MAX_HEADER_LINKS = 50

_TARGET = re.compile(r"\s*,?\s*<([^<>]*)>")
_PARAMETER = re.compile(r"""\s*;\s*([^\s=;,"<>]+)?(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"<>]*)))?""")
MAX_TAG_ATTRIBUTES = 40
# WHATWG HTML §13.2.5.
RAW = words("script style textarea title xmp noembed noframes iframe template")
_START = re.compile(r"<(!--|[a-zA-Z][a-zA-Z0-9:-]{0,40})")
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s/>=][^\s/>=]{0,100})(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?""")
_RAW_ENDS = {name: re.compile(rf"</{name}(?![a-z0-9])", re.IGNORECASE) for name in RAW}
_PATH = re.compile(
    r"(?:^|/)(?:comments?|kommentare|commentaires|comentarios|commenti|reacties)(?:[/.]|$)"
    r"|/comments?[-_]?(?:feed|rss)",
    re.IGNORECASE,
)
_QUERY = re.compile(r"(?:^|&)(?:feed|format|type)=comments?-", re.IGNORECASE)
# WordPress, Blogger, Drupal, translated.
_TITLES = (
    r"\bcomments?[- ](?:feed|rss|on|for|to|by)\b",
    r"\b(?:recent|latest|all|new) comments\b",
    r"\bcomments$",
    r"\bkommentar(?:e|en)?[- ]?(?:feed|rss|zu|zum|zur|für|von)\b",
    r"\b(?:neueste|alle) kommentare\b",
    r"\bkommentare$",
    r"\bcommentaires (?:sur|pour|de)\b",
    r"\bflux des commentaires\b",
    r"\bcomentarios (?:en|de|sobre|para)\b",
    r"\bfeed de los comentarios\b",
    r"\bcomentários (?:em|sobre|para|de)\b",
    r"\bcommenti (?:su|a|per|di)\b",
    r"\bfeed dei commenti\b",
    r"\breacties (?:op|voor)\b",
    r"\bkomentarze do\b",
)
_TITLE = re.compile("|".join(_TITLES), re.IGNORECASE)
MAX_PAGE = 1_000_000
MAX_PAGE_LINKS = 50
MAX_ANCHORS = 10
MAX_READ_ANCHORS = 5_000
MAX_LINK_TITLE = 200
ANCHOR_TEXT = 300
FEED_MEDIA_TYPES = words(
    "application/rss+xml application/atom+xml application/feed+json application/rdf+xml application/rss"
    " application/x.atom+xml application/x-atom+xml text/rss+xml text/atom+xml"
)
VAGUE_TYPES = words("application/xml text/xml application/json")
WELL_KNOWN = ("feed", "feed.xml", "rss.xml", "atom.xml", "index.xml", "rss", "blog/feed", "feed.json")
# For parts of a site, like https://example.org/~ada/.
WELL_KNOWN_BELOW = ("feed", "feed.xml", "index.xml")
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([a-zA-Z0-9._:-]{1,40})", re.IGNORECASE)
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([a-zA-Z0-9._:-]{1,40})", re.IGNORECASE)
# Other codecs are slow or not for text.
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


def links_of_header(value: str) -> list[tuple[str, str]]:
    """Return (lower-case relation, target). Skips links with `anchor`; stops at errors."""
    links: list[tuple[str, str]] = []
    # Bounds white space.
    position, value = 0, one_line(value[:MAX_LINK_HEADER])
    while len(links) < MAX_HEADER_LINKS and (target := _TARGET.match(value, position)):
        parameters: dict[str, str] = {}
        position = target.end()
        while match := _PARAMETER.match(value, position):
            name, quoted, token = match.groups()
            text = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else token or ""
            # RFC 8288 §3: the first counts.
            parameters.setdefault((name or "").lower(), text)
            position = match.end()
        if "anchor" not in parameters:
            links += [(rel, target.group(1).strip()) for rel in parameters.get("rel", "").lower().split()]
        comma = value.find(",", position)
        position = comma if comma >= 0 else len(value)
    return links[:MAX_HEADER_LINKS]


@dataclass(frozen=True, slots=True)
class StartTag:
    """Its content begins at `end`; raw text ends at `raw_end`."""

    name: str
    attributes: dict[str, str]
    end: int
    raw_end: int

    def get(self, name: str) -> str:
        return self.attributes.get(name, "").strip()

    def tokens(self, name: str) -> frozenset[str]:
        return frozenset(self.get(name).lower().split())


def start_tags(html: str) -> Iterator[StartTag]:
    position = 0
    while start := _START.search(html, position):
        name = start.group(1).lower()
        if name == "!--":
            position = html.find("-->", start.end()) + 3
            if position < 3:
                return
            continue
        attributes: dict[str, str] = {}
        position = start.end()
        for _ in range(MAX_TAG_ATTRIBUTES):
            match = _ATTRIBUTE.match(html, position)
            if match is None:
                break
            value = match.group(2) or match.group(3) or match.group(4) or ""
            attributes.setdefault(match.group(1).lower(), unescape(value))
            position = match.end()
        end = html.find(">", position) + 1 or len(html)
        position = end
        if name in RAW:
            closing = _RAW_ENDS[name].search(html, end)
            position = closing.start() if closing else len(html)
        yield StartTag(name, attributes, end, raw_end=position)


def is_comment_feed(url: str, title: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return bool(_PATH.search(parts.path) or _QUERY.search(parts.query) or _TITLE.search(title))


@dataclass(frozen=True, slots=True)
class Link:
    url: str
    title: str = ""

    @property
    def is_comments(self) -> bool:
        return is_comment_feed(self.url, self.title)


@dataclass(frozen=True, slots=True)
class WebPage:
    """`links` are declared feeds, `anchors` only look like feeds."""

    title: str = ""
    links: tuple[Link, ...] = ()
    anchors: tuple[Link, ...] = ()
    has_posts: bool = False


def decoded(body: bytes, content_type: str = "", *, most: int = MAX_PAGE) -> str:
    body = body[:most]
    if (wide := wide_text(body)) is not None:
        return wide
    header = _CHARSET.search(content_type)
    meta = _META_CHARSET.search(body[:4096])
    names = [header.group(1) if header else "", meta.group(1).decode("ascii") if meta else ""]
    for name in filter(None, names):
        try:
            known = codecs.lookup(name).name
        except (LookupError, ValueError):
            continue
        # WHATWG Encoding §4.2.
        known = {"iso8859-1": "cp1252", "ascii": "cp1252"}.get(known, known)
        if _CODECS.fullmatch(known):
            return body.decode(known, "replace")
    return body.decode("utf-8", "replace")


def read_page(html: str, url: str) -> WebPage:
    html = html[:MAX_PAGE]
    base, title, has_posts = url, "", False
    links: list[Link] = []
    anchors: list[Link] = []
    anchors_read = 0
    for tag in start_tags(html):
        if tag.name == "base" and base == url:
            base = absolute(tag.get("href"), url) or url
        elif tag.name == "title" and not title:
            title = _title(html[tag.end : tag.raw_end])
        elif tag.name == "link" and _declares_feed(tag):
            links.append(Link(tag.get("href"), _title(tag.get("title"))))
        elif tag.name == "a" and anchors_read < MAX_READ_ANCHORS and "href" in tag.attributes:
            anchors_read += 1
            href = tag.get("href")
            text = html[tag.end : tag.end + ANCHOR_TEXT].partition("</a")[0]
            is_named = any(name in text.lower() for name in ("rss", "atom", "feed"))
            label = shortened(plain(text), MAX_LINK_TITLE) if is_named else ""
            typed = tag.get("type").partition(";")[0].strip().lower() in FEED_MEDIA_TYPES
            if typed or looks_like_feed(href) or (label and len(label) <= 40 and _FEED_WORDS.search(label)):
                anchors.append(Link(href, label or _title(tag.get("title"))))
        has_posts = has_posts or not {"h-feed", "h-entry"}.isdisjoint(tag.tokens("class"))
    return WebPage(
        title=title,
        links=tuple(_resolved(links, base, url))[:MAX_PAGE_LINKS],
        anchors=tuple(_resolved(anchors, base, url))[:MAX_ANCHORS],
        has_posts=has_posts,
    )


def _declares_feed(tag: StartTag) -> bool:
    """Accept rel=alternate with a type, or rel=feed (microformats)."""
    rel, href = tag.tokens("rel"), tag.get("href")
    if not href or "stylesheet" in rel:
        return False
    type_ = tag.get("type").partition(";")[0].strip().lower()
    if "feed" in rel:
        return True
    if not {"alternate", "alternative"} & rel:
        return False
    return type_ in FEED_MEDIA_TYPES or (type_ in VAGUE_TYPES | {""} and looks_like_feed(href))


def looks_like_feed(href: str) -> bool:
    try:
        parts = urlsplit(href)
    except ValueError:
        return False
    return bool(_FEED_PATH.search(parts.path) or _FEED_QUERY.search(parts.query))


def _resolved(links: Iterable[Link], base: str, url: str) -> Iterator[Link]:
    """Yield absolute addresses once each, except the page itself."""
    seen = {urldefrag(url).url}
    for link in links:
        address = urldefrag(absolute(link.url, base)).url
        if address and address not in seen:
            seen.add(address)
            yield Link(address, link.title)


def _title(text: str) -> str:
    return shortened(plain_title(text), MAX_LINK_TITLE)


def well_known(url: str) -> tuple[str, ...]:
    url = urldefrag(url).url.partition("?")[0]
    root = urljoin(url, "/")
    is_file = "." in url.rpartition("/")[2]
    folder = urljoin(url if url.endswith("/") or is_file else url + "/", ".")
    beside = [urljoin(folder, path) for path in WELL_KNOWN_BELOW] if folder != root else []
    return tuple(dict.fromkeys([*beside, *(urljoin(root, path) for path in WELL_KNOWN)]))


def format_of(body: bytes) -> str:
    form = form_of(body)
    if form is not Form.XML:
        return "JSON Feed" if form is Form.JSON else "the page itself (h-feed)"
    head = body[:20_000].replace(b"\0", b"")
    root = re.search(rb"<(rss|feed|rdf:rdf|rdf|atom:feed)(?=[\s>])([^>]{0,2000})", head, re.IGNORECASE)
    name = root.group(1).lower() if root else b"rss"
    if name == b"rss":
        version = re.search(rb"version\s*=\s*[\"']([0-9.]{1,8})", root.group(2)) if root else None
        return f"RSS {version.group(1).decode()}" if version else "RSS"
    return "RSS 1.0" if b"rdf" in name else "Atom"
