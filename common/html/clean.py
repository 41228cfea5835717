"""Html from outside made safe, and made text."""

import html as entities
import re
from functools import lru_cache

import nh3

from common.html import embeds, images
from common.html.balance import MAX_HTML, balance
from common.html.hidden import without_hidden
from common.html.tags import scheme
from common.text import one_line, without_controls, words

MAX_LINE = 10_000
# Below these no parser can be made to work hard; above them the html is balanced first.
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
    "ol": {"start", "reversed"},
    "td": {"colspan", "rowspan", "align"},
    "th": {"colspan", "rowspan", "align"},
}
DROPPED_WITH_CONTENT = {"script", "style", "svg", "template", "textarea", "title", "noembed", "noframes"}

_WRITTEN_OUT = re.compile(r"data:[\w./+-]{1,80};base64,[\w+/=\s%]{100,}", re.ASCII)
_NOSCRIPT = re.compile(r"</?noscript\b[^<>]*>", re.IGNORECASE)
_NOTHING = re.compile(r"<p>\s*</p>")
_BREAK = re.compile(r"<(?:br|/p|/div|/li|/h[1-6])\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


def clean(html: str, *, base: str) -> str:
    """The html with nothing in it that could run, track or lead astray; all addresses absolute.

    What plays or frames becomes a link to it. `base` is the address of the page that the html stands on.
    Html beyond 1,000,000 characters is cut off.
    """
    html = without_controls(html[:MAX_HTML])
    if "<" not in html and "&" not in html:
        return html
    if len(html) > SHORT or html.count("<") > FEW_TAGS:
        html = balance(html)
    root = base if scheme(base) in ("http", "https") else ""
    if "<noscript" in html or "<NOSCRIPT" in html:
        # It holds what is seen here, where no script runs.
        html = _NOSCRIPT.sub("", html)
    cleaned = _cleaner(root, with_embeds=True).clean(html)
    if "<picture" in cleaned or embeds.are_in(cleaned):
        replaced = images.tidied(embeds.as_links(images.without_pictures(cleaned), root), root)
        cleaned = _NOTHING.sub("", _cleaner(root, with_embeds=False).clean(replaced))
    elif "<img" in cleaned:
        cleaned = images.tidied(cleaned, root)
    return without_controls(cleaned)


def bounded(html: str, limit: int) -> str:
    """At most `limit` characters; images that are written out in it, which no letter shows, go first."""
    if len(html) > limit and ";base64," in html:
        html = _WRITTEN_OUT.sub("", html)
    return html[:limit]


def plain(text: str) -> str:
    """A title or name that may hold tags and entities, as one line of text without control characters."""
    text = text[:MAX_LINE]
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub(" ", without_hidden(text)))
    return one_line(entities.unescape(text) if "&" in text else text)


@lru_cache(maxsize=256)
def _cleaner(base: str, *, with_embeds: bool) -> nh3.Cleaner:
    try:
        return nh3.Cleaner(
            tags=ALLOWED_TAGS | (embeds.EMBED_TAGS | {"picture"} if with_embeds else set()),
            attributes={**ALLOWED_ATTRIBUTES, **embeds.EMBED_ATTRIBUTES}
            if with_embeds
            else ALLOWED_ATTRIBUTES,
            clean_content_tags=DROPPED_WITH_CONTENT,
            link_rel="noopener",
            url_schemes={"http", "https", "mailto"},
            url_relative=("rewrite_with_base", base) if base else "deny",
            filter_style_properties={"width", "height", "display", "visibility", "opacity"},
        )
    except ValueError:
        # nh3 refuses more addresses (https://256.1.1.1/) than we do.
        return _cleaner("", with_embeds=with_embeds)
