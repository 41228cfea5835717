import html as entities
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import nh3

from common.html import embeds, foreign, images, visible
from common.html.balance import MAX_HTML, balance, mended, scheme, with_directions
from common.html.foreign import hides, without_hidden
from common.html.numbering import with_starts
from common.html.titles import without_anchors
from common.text import one_line, without_controls, words

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MAX_LINE = 10_000
# Parsers may take long for more, so the HTML is balanced first.
FEW_TAGS = 500
SHORT = 50_000

ALLOWED_TAGS = words(
    "a abbr address article aside b bdi bdo big blockquote br caption center cite code col colgroup dd del"
    " details dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main"
    " mark nav ol p pre q rp rt ruby s samp section small span strike strong sub summary sup table tbody td"
    " tfoot th thead time tr tt u ul var wbr"
)
ALLOWED_ATTRIBUTES = {
    "*": {"lang", "dir", "title"},
    "a": {"href"},
    "img": {"src", "alt", "width", "height", "style", *images.LATE, *images.LATE_SETS},
    "ol": {"start", "reversed", "type"},
    "li": {"value", "type"},
    "td": {"colspan", "rowspan", "align"},
    "th": {"colspan", "rowspan", "align"},
}
DROPPED_WITH_CONTENT = words("script style svg template textarea title noembed noframes")
# `images` judges pictures by these.
_STYLES = words("width height max-width display visibility opacity")
SCHEMES = {"http", "https", "mailto", "tel", "sms"}

_RARE = re.compile(
    "<(?:math|MATH|svg|SVG|canvas|CANVAS|input|INPUT|select|SELECT|textarea|TEXTAREA|applet|APPLET|dialog"
    "|datalist|meter|progress|button|BUTTON|area|AREA|m:math|mml:math|[a-z]+[a-z0-9]*-"
    r"|script [^<>]*(?:math/|gist\.github\.com|asciinema\.org/a/|gitlab\.com))"
)
# Elements without content that name a page. Bounded, because tags may be long.
_HOLLOW = re.compile(
    r"<(?:a\s[^<>]{0,400}\baria-label=[^<>]{0,400}>\s*<(?:/a|i|span)\b"
    r"|[a-z][a-z0-9]*\s[^<>]{0,400}\b(?:cite|data-href|data-url)\s*=[^<>]{0,400}>\s*</)",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"white-space\s*:\s*(?:pre|break)|<[a-z]+\s[^<>]{0,400}(?:display\s*:\s*block"
    r"|class\s*=[^<>]{0,400}(?:line|\bln|lnum|gutter))"
    r"|data-line-number=|<td[^<>]{0,400}>\s*<pre",
    re.IGNORECASE,
)
_HOLLOW_NAMES = ("aria-label=", "data-href=", "data-url=", " cite=")
_REPLACED = re.compile("<(?:picture|iframe|video|audio|source|embed|object)")
_WRITTEN_OUT = re.compile(r"data:[\w./+-]{1,80};base64,[\w+/=\s%]{100,}", re.ASCII)
_NOSCRIPT = re.compile(r"</?noscript\b[^<>]*>", re.IGNORECASE)
_BROKEN_LINK, _BROKEN_SOURCE = (re.compile(rf'{name}="[^"\s\\]*[\s\\]') for name in ("href", "src"))
_ADDRESS = re.compile(r'(?<= )((?:href|src)=)"([^"]*)"')
_NOTHING = re.compile(r"<p>\s*</p>")
_BREAK = re.compile(
    r"</?(?:address|article|aside|blockquote|br|caption|center|dd|details|div|dl|dt|figcaption|figure|footer|form"
    r"|h[1-6]|header|hr|li|main|nav|ol|option|p|pre|section|summary|table|tbody|td|tfoot|th|thead|tr|ul)\b[^<>]*>",
    re.IGNORECASE,
)
_READING, _NEXT_READING = re.compile("<rt[^<>]*>([^<]*)</rt>"), re.compile(r"</rt>\s*<rt[^<>]*>")
_TAG = re.compile(r"<[/!?]?[a-zA-Z][^<>]*>|<!\[[^<>\[\]]*(?:\[|\]>)|\]\]>(?=\s*(?:<|\Z))")
# Deeper nesting takes more than linear time.
MOST_NESTING = 20


def clean(html: str, *, base: str) -> str:
    """Return HTML without scripts, trackers and hidden elements; media and frames become links.

    `base` is the address of the page. HTML beyond 1,000,000 characters is cut off.
    """
    html = without_controls(html[:MAX_HTML])
    if "<" not in html and "&" not in html:
        return html
    if "data:image/" in html or "DATA:" in html:
        html = images.with_inline(html)
    is_rich = _RARE.search(html) is not None
    if is_rich:
        html = foreign.rewritten(html)
    is_rich = is_rich or hides(html) or "data-attrs=" in html
    is_rich = is_rich or (any(name in html for name in _HOLLOW_NAMES) and _HOLLOW.search(html) is not None)
    if not is_rich and any(word in html for word in ("<pre", "white-space", "line-number", "lineno")):
        is_rich = _CODE.search(html) is not None or _has_blocks_in_code(html)
    if len(html) > SHORT or html.count("<") > FEW_TAGS:
        html = balance(html)
    root = base if scheme(base) in ("http", "https") else ""
    if "<noscript" in html or "<NOSCRIPT" in html:
        html = _NOSCRIPT.sub("", html)
    cleaned, is_late = _cleaned(html, root, is_rich=is_rich)
    if is_late and not is_rich and "data-" in html:
        # Only that cleaner keeps the attribute with the address.
        cleaned, _ = _cleaned(html, root, is_rich=True)
    if "#" in cleaned:
        cleaned = without_anchors(cleaned, root)
    if _BROKEN_LINK.search(cleaned) or ("<img" in cleaned and _BROKEN_SOURCE.search(cleaned)):
        cleaned = _ADDRESS.sub(
            lambda tag: f'{tag[1]}"{entities.escape(mended(entities.unescape(tag[2])))}"', cleaned
        )
    cleaned = with_directions(with_starts(cleaned))
    # The cleaner decodes &#7; and the like.
    return without_controls(cleaned) if "&#" in html else cleaned


def _cleaned(html: str, root: str, *, is_rich: bool) -> tuple[str, bool]:
    cleaned = _cleaner(root, _RICH if is_rich else _WITH_EMBEDS).clean(html)
    if is_rich:
        cleaned = visible.visible(cleaned, root)
    cleaned = embeds.with_names(cleaned, root)
    is_late = False
    if is_rich or _REPLACED.search(cleaned):
        replaced, is_late = images.tidied(embeds.as_links(images.without_pictures(cleaned), root), root)
        cleaned = _NOTHING.sub("", _cleaner(root, _PLAIN).clean(replaced))
    elif "<img" in cleaned:
        cleaned, is_late = images.tidied(cleaned, root)
    return cleaned, is_late


def _has_blocks_in_code(html: str) -> bool:
    codes = (part.partition("</pre")[0] for part in html.split("<pre")[1:])
    return any(block in code for code in codes for block in ("<div", "<li", "<p>", "<section"))


def bounded(html: str, limit: int) -> str:
    """Shorten HTML, dropping base64 images first because no letter shows them."""
    if len(html) > limit and ";base64," in html:
        html = _WRITTEN_OUT.sub("data:image/png;base64,", html)
    return html[:limit]


def plain(text: str) -> str:
    text = text[:MAX_LINE]
    if "<rt" in text and "<rp" not in text:
        text = _READING.sub(r"（\1）", _NEXT_READING.sub("", text))
    if "<" in text or "]]>" in text:
        text = _TAG.sub("", _BREAK.sub(" ", without_hidden(text)))
    return one_line(entities.unescape(text) if "&" in text else text)


def lines(html: str) -> list[str]:
    """Return the text, with a line for each block."""
    return [line for block in _BREAK.split(html) if (line := plain(block))]


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    tags: frozenset[str] = ALLOWED_TAGS
    attributes: Mapping[str, AbstractSet[str]] = field(default_factory=lambda: ALLOWED_ATTRIBUTES)
    prefixes: frozenset[str] = frozenset()
    dropped: frozenset[str] = DROPPED_WITH_CONTENT


_PLAIN = _Kept()
_WITH_EMBEDS = _Kept(
    ALLOWED_TAGS | embeds.EMBED_TAGS | {"picture"}, ALLOWED_ATTRIBUTES | embeds.EMBED_ATTRIBUTES
)
_RICH = _Kept(
    _WITH_EMBEDS.tags | visible.RICH_TAGS,
    {
        tag: frozenset().union(
            *(one.get(tag, ()) for one in (_WITH_EMBEDS.attributes, visible.RICH_ATTRIBUTES))
        )
        for tag in _WITH_EMBEDS.attributes.keys() | visible.RICH_ATTRIBUTES.keys()
    },
    frozenset({"data-"}),
    DROPPED_WITH_CONTENT - visible.RICH_TAGS,
)


@lru_cache(maxsize=256)
def _cleaner(base: str, kept: _Kept) -> nh3.Cleaner:
    try:
        return nh3.Cleaner(
            tags=set(kept.tags),
            attributes={tag: set(names) for tag, names in kept.attributes.items()},
            generic_attribute_prefixes=set(kept.prefixes),
            clean_content_tags=set(kept.dropped),
            link_rel="noopener",
            url_schemes=SCHEMES,
            url_relative=("rewrite_with_base", base) if base else "deny",
            filter_style_properties=set(_STYLES) if kept is not _RICH else None,
        )
    except ValueError:
        # nh3 refuses addresses such as https://256.1.1.1/.
        return _cleaner("", kept)


def html_of(markdown: str, *, base: str) -> str:
    """Render CommonMark with tables; raw HTML in it is escaped."""
    return clean(_parser().render(without_controls(markdown)), base=base)


@lru_cache(maxsize=1)
def _parser() -> "MarkdownIt":
    # Only posts and letters in Markdown need it.
    from markdown_it import MarkdownIt

    options = {"html": False, "maxNesting": MOST_NESTING, "breaks": False}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
