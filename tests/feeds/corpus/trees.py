"""Random feeds of every format: valid names in any order, with any content."""

import json
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st

from common.text import words

ROOTS = (
    '<rss version="2.0"{}>',
    "<rss{}>",
    '<feed xmlns="http://www.w3.org/2005/Atom"{}>',
    '<feed version="0.3" xmlns="http://purl.org/atom/ns#"{}>',
    '<rdf:RDF xmlns="http://purl.org/rss/1.0/" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"{}>',
)
NAMESPACES = (
    ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/"'
    ' xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom"'
    ' xmlns:itunes="http://www.itunes.com/dtds/podcast-1.0.dtd" xmlns:x="http://www.w3.org/1999/xhtml"'
    ' xmlns:iffy="http://tech.interfluidity.com/xml/iffy/" xmlns:psc="http://podlove.org/simple-chapters"'
    ' xmlns:georss="http://www.georss.org/georss" xmlns:gml="http://www.opengis.net/gml"'
    ' xmlns:cc="http://web.resource.org/cc/" xmlns:dcterms="http://purl.org/dc/terms/"'
)
NAMES = sorted(
    words(
        "channel item entry guid id title link description summary content content:encoded author name email"
        " uri url dc:creator dc:date dc:subject dc:language dc:contributor category pubDate published updated"
        " issued created modified enclosure media:content media:group media:description media:thumbnail"
        " media:title media:keywords media:credit media:rating media:player media:license media:restriction"
        " media:category source image textInput ttl skipHours hour skipDays day cloud language itunes:author"
        " itunes:image itunes:category itunes:keywords itunes:owner itunes:explicit itunes:duration atom:link"
        " atom:id atom:updated generator rights logo icon contributor comments expirationDate"
        " iffy:hint-announce iffy:policy iffy:restriction body x:body x:div div p svg math psc:chapters"
        " psc:chapter georss:point georss:polygon georss:where gml:Point gml:pos cc:license dcterms:valid"
        " dcterms:created tags width height lastBuildDate managingEditor webMaster newLocation"
    )
)
ATTRIBUTES = sorted(
    words(
        "isPermaLink rel href type length url medium fileSize mode src term label scheme domain xml:base"
        " xml:lang rdf:about version uri text base lang"
    )
)
CLASSES = sorted(
    words(
        "h-feed h-entry h-card h-cite p-name p-author p-summary e-content u-url u-uid u-photo u-video u-audio"
        " dt-published dt-updated p-category hentry entry-title vcard hfeed entry-content published"
    )
)
TAGS = (*sorted(words("div article a img time span p section h1 ul li video audio data abbr")),)
KEYS = sorted(
    words(
        "version title home_page_url feed_url items id url external_url content_html content_text summary"
        " image banner_image date_published date_modified author authors name avatar tags attachments"
        " mime_type size_in_bytes language hubs type expired icon favicon _iffy hint_announce policy"
        " restriction @context inbox"
    )
)
VALUES = (
    *("", "\u202e", "Mon, 04 May 2026 09:00:00 +0200", "a@b.example (A)"),
    *sorted(
        words(
            "true false alternate self hub enclosure html xhtml text text/html image/png base64 escaped"
            " application/xml https://a.example/ /b //c http://[ javascript:x data:,x mailto:a@b.example"
            " urn:x:1 1 -1 0 999999999999999999 2026-05-04T09:00:00Z 0000-00-00 9999-12-31T23:59:59-12:00 24"
            " Sunday never &amp; <b>x</b> <script>x</script> &#128; % 😀"
        )
    ),
)

texts = st.one_of(st.sampled_from(VALUES), st.text(max_size=20))
attributes = st.dictionaries(st.sampled_from(ATTRIBUTES), texts, max_size=4)


def _element(name: str, values: dict[str, str], inside: str) -> str:
    written = "".join(f" {key}={quoteattr(value)}" for key, value in values.items())
    return f"<{name}{written}>{inside}</{name}>"


def _parents(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    inside = st.lists(children, max_size=8).map("".join)
    return st.builds(_element, st.sampled_from(NAMES), attributes, inside)


_leaves = st.builds(_element, st.sampled_from(NAMES), attributes, texts.map(escape))
_nodes = st.recursive(_leaves | texts.map(escape), _parents, max_leaves=25)


@st.composite
def xml_feeds(draw: st.DrawFn) -> bytes:
    """Draw elements of all formats in any order and nesting, half of them in an item of a channel."""
    root = draw(st.sampled_from(ROOTS))
    inside = "".join(draw(st.lists(_nodes, max_size=6)))
    post = "item" if "feed" not in root else "entry"
    if draw(st.booleans()):
        inside = f"<{post}>{inside}</{post}>" + "".join(draw(st.lists(_nodes, max_size=2)))
    if post == "item" and draw(st.booleans()):
        inside = f"<channel>{inside}</channel>"
    closing = root[1:].partition(" ")[0].rstrip("{}>")
    return f"{root.format(NAMESPACES)}{inside}</{closing}>".encode("utf-8", "surrogatepass")


_scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), texts)
_json = st.recursive(
    _scalars,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inside, max_size=6),
    max_leaves=20,
)
_items = st.lists(st.dictionaries(st.sampled_from(KEYS), _json, max_size=8) | _json, max_size=5)


@st.composite
def json_feeds(draw: st.DrawFn) -> bytes:
    """Draw JSON Feed's names with values of any type, including NaN and infinity."""
    document: dict[str, Any] = draw(st.dictionaries(st.sampled_from(KEYS), _json, max_size=8))
    document |= {"version": "https://jsonfeed.org/version/1.1"} if draw(st.booleans()) else {}
    document["items"] = draw(_items)
    text = json.dumps(document, ensure_ascii=draw(st.booleans()))
    return text.encode(draw(st.sampled_from(["utf-8", "utf-16", "utf-8-sig"])), "surrogatepass")


def _markup(tag: str, classes: list[str], values: dict[str, str], inside: str) -> str:
    return _element(tag, {"class": " ".join(classes), **values}, inside)


_page_attributes = st.dictionaries(
    st.sampled_from(["href", "src", "datetime", "title", "alt", "value", "rel"]), texts, max_size=3
)
_page_classes = st.lists(st.sampled_from(CLASSES), max_size=3)
_page_nodes = st.recursive(
    texts.map(escape),
    lambda inside: st.builds(
        _markup,
        st.sampled_from(TAGS),
        _page_classes,
        _page_attributes,
        st.lists(inside, max_size=5).map("".join),
    ),
    max_leaves=25,
)


@st.composite
def pages(draw: st.DrawFn) -> bytes:
    """Draw a page of microformats in any nesting."""
    base = draw(st.sampled_from(["", "<base href='http://['>", "<base href='/b/'>"]))
    inside = "".join(draw(st.lists(_page_nodes, max_size=5)))
    return f"<!DOCTYPE html><html>{base}<body>{inside}</body></html>".encode("utf-8", "surrogatepass")
