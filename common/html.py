"""Html from outside made safe, and made text."""

import html as entities
import re
from functools import lru_cache
from urllib.parse import urlsplit

import nh3

from common.balancing import balance
from common.plain_text import to_text
from common.text import one_line, without_controls, words

__all__ = ["clean", "plain", "to_text"]

MAX_HTML = 1_000_000
MAX_LINE = 10_000
# Below these no parser can be made to work hard; above them the html is balanced first.
FEW_TAGS = 500
SHORT = 50_000

TAGS = words(
    "a abbr b blockquote br caption center cite code col colgroup dd del details dfn div dl dt em figcaption"
    " figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p picture pre q s samp small span strong sub"
    " summary sup table tbody td tfoot th thead tr tt u var wbr"
)
ATTRIBUTES = {
    "*": {"lang", "dir", "title"},
    "a": {"href"},
    "img": {"src", "alt", "width", "height", "style"},
    "iframe": {"src"},
    "ol": {"start", "reversed"},
    "td": {"colspan", "rowspan", "align"},
    "th": {"colspan", "rowspan", "align"},
}
DROPPED_WITH_CONTENT = {"script", "style", "svg", "template", "textarea", "title", "noembed", "noframes"}

_VALUES = r'(?: [^\s=">]+="[^"]*")*'
_IMG = re.compile(f"<img({_VALUES})>")
_IFRAME = re.compile(f"<iframe({_VALUES})>.*?</iframe>", re.DOTALL)
_ATTRIBUTE = re.compile(r' ([^\s=">]+)="([^"]*)"')
_SIZE = re.compile(r"(width|height)\s*:\s*([\d.]+)")
_RAW = re.compile(r"<(script|style)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_BREAK = re.compile(r"<(?:br|/p|/div|/li|/h[1-6])\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>|<!--.*?-->", re.DOTALL)


def clean(html: str, *, base: str) -> str:
    """The html with nothing in it that could run, track or lead astray; all addresses absolute.

    `base` is the address of the page that the html stands on. Html beyond 1,000,000 characters is cut off.
    """
    html = without_controls(html[:MAX_HTML])
    if "<" not in html and "&" not in html:
        return html
    if len(html) > SHORT or html.count("<") > FEW_TAGS:
        html = balance(html)
    root = base if _scheme(base) in ("http", "https") else ""
    cleaned = _cleaner(root, with_frames=True).clean(html)
    cleaned = _IMG.sub(_image, cleaned)
    if "<iframe" in cleaned:
        cleaned = _cleaner(root, with_frames=False).clean(_IFRAME.sub(_frame_as_link, cleaned))
    return without_controls(cleaned)


def plain(text: str) -> str:
    """A title or name that may hold tags and entities, as one line of text without control characters."""
    text = text[:MAX_LINE]
    if "<" in text:
        text = _TAG.sub("", _BREAK.sub(" ", _RAW.sub("", text)))
    return one_line(entities.unescape(text) if "&" in text else text)


def _scheme(url: str) -> str | None:
    """The scheme of an address; None when it is none."""
    try:
        parts = urlsplit(url)
        return parts.scheme.lower() if parts.hostname else None
    except ValueError:
        return None


@lru_cache(maxsize=256)
def _cleaner(base: str, *, with_frames: bool) -> nh3.Cleaner:
    try:
        return nh3.Cleaner(
            tags=TAGS | {"iframe"} if with_frames else TAGS,
            attributes=ATTRIBUTES,
            clean_content_tags=DROPPED_WITH_CONTENT,
            link_rel="noopener",
            url_schemes={"http", "https", "mailto"},
            url_relative=("rewrite_with_base", base) if base else "deny",
            filter_style_properties={"width", "height", "display"},
        )
    except ValueError:
        # nh3 knows more addresses that are none (https://256.1.1.1/) than we do.
        return _cleaner("", with_frames=with_frames)


def _attributes(text: str) -> dict[str, str]:
    return {name: entities.unescape(value) for name, value in _ATTRIBUTE.findall(text)}


def _image(match: re.Match[str]) -> str:
    """The image without its style; nothing when it is a tracking pixel or leads nowhere."""
    values = _attributes(match.group(1))
    style = values.pop("style", "").lower()
    if not values.get("src") or re.search(r"display\s*:\s*none", style) or _is_pixel(values, style):
        return ""
    return "<img" + "".join(f' {name}="{entities.escape(value)}"' for name, value in values.items()) + ">"


def _is_pixel(values: dict[str, str], style: str) -> bool:
    sizes = {**values, **dict(_SIZE.findall(style))}
    return all(
        re.fullmatch(r"0*[01]?(\.0*)?(px)?", sizes.get(side, "2").strip()) for side in ("width", "height")
    )


def _frame_as_link(match: re.Match[str]) -> str:
    source = _attributes(match.group(1)).get("src", "")
    if _scheme(source) not in ("http", "https"):
        return ""
    name = urlsplit(source).hostname or source
    return f'<p><a href="{entities.escape(source)}">{entities.escape(name)}</a></p>'
