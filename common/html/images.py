import binascii
import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import partial
from html import escape, unescape
from urllib.parse import unquote

from common.html.balance import VALUES, attributes, resolved, scheme, written
from common.html.plain_text import PICTURE

# Hosts (with subdomains) and start of the path.
BEACONS = (
    ("feeds.feedburner.com", "/~"),  # ~r is a pixel, ~ff a row of buttons
    ("feedproxy.google.com", "/~"),
    ("feedsportal.com", "/"),
    ("feedblitz.com", "/~"),
    ("pixel.wp.com", "/"),
    ("stats.wp.com", "/"),
    ("stats.wordpress.com", "/"),
    ("feeds.wordpress.com", "/1.0/"),
    ("medium.com", "/_/stat"),
    ("blogger.googleusercontent.com", "/tracker/"),
    ("google-analytics.com", "/"),
    ("googletagmanager.com", "/"),
    ("doubleclick.net", "/"),
    ("googlesyndication.com", "/"),
    ("quantserve.com", "/"),
    ("scorecardresearch.com", "/"),
    ("amazon-adsystem.com", "/"),
    ("assoc-amazon.com", "/e/"),
    ("api.follow.it", "/track"),
    ("substackcdn.com", "/open"),
    ("counter.theconversation.com", "/"),
    ("counter.theconversation.edu.au", "/"),
    ("list-manage.com", "/track/"),
    ("sendgrid.net", "/wf/open"),
    ("hubspotlinks.com", "/"),
    ("awstrack.me", "/I0/"),
    ("mailtrack.io", "/"),
    ("convertkit-mail.com", "/o/"),
    ("convertkit-mail2.com", "/o/"),
    ("mandrillapp.com", "/track/open"),
    ("rss.buysellads.com", "/"),
)
# On any host: Matomo, Mailchimp, SendGrid and similar.
_PATHS = re.compile(
    r"/(?:matomo|piwik)\.php|/track/open\.php|/wf/open|/__utm\.gif|/mf\.gif\Z"
    r"|/(?:e?mail-?)?open(?:\.(?:php|aspx?|gif|png))?\Z|/(?:pixel|beacon|tracker)\.(?:gif|png)\Z",
    re.IGNORECASE,
)
_EXACT = {("facebook.com", "/tr"), ("facebook.com", "/tr/")}
_ADDRESS = re.compile(r"https?://(?:[^/?#@]*@)?([^/?#:]+)(?::\d+)?(/[^?#]*)?", re.IGNORECASE)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0?(?:\.0+)?\s*(?:;|\Z)")
_SIZE = re.compile(
    r"(?<![\w-])((?:max-)?width|height)\s*:\s*(\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})\s*(px|%|em|rem|ex|pt|vw)?"
)
_UNITS = {"px": 1.0, "": 1.0, "em": 16.0, "rem": 16.0, "ex": 8.0, "pt": 4 / 3}
_NOTHING = re.compile(r"0*[01]?(\.0*)?(px)?")
# For lazy loading by scripts.
LATE = ("data-src", "data-lazy-src", "data-original")
LATE_SETS = ("srcset", "data-srcset", "data-lazy-srcset")
# Others, if the value is the address of a picture.
_LATE_NAME = re.compile(
    r"src|orig|lazy|echo|image|img|photo|picture|url|large|full|file|load|set", re.IGNORECASE
)
_SAYS_PICTURE = ("src", "original", "url", "image", "img")
_PICTURE_FILE = re.compile(r"\.(?:jpe?g|png|gif|webp|avif|svg|bmp)(?![\w-])", re.IGNORECASE)
KEPT = ("alt", "width", "height", "title", "lang", "dir")
WIDEST = 1_200
IMG = re.compile(f"<img({VALUES})>")
_PICTURE = re.compile(r"<picture[^>]*>(.*?)</picture>", re.DOTALL)
SOURCE = re.compile(f"<source({VALUES})>")
_CANDIDATE = re.compile(r"([^\s,]\S*[^\s,])(?:\s+([\d.]+)([wx]))?\s*(?:,|\Z)")
# Replaces the picture of a data: address, which no letter shows (RFC 6761 §6.4).
INLINE_BASE = "https://inline.invalid/"
_STAND_IN = re.compile(
    rf"^data:|^{INLINE_BASE}|/[^/]*(?:placeholder|blank|spacer|pixel|1x1|1px|transparent|lazy|loading|loader|preload|dummy"
    r"|gr[ae]y|empty)[^/]*\.\w+|/(?:t|x|s|p|clear|dot|trans|null|none)\.(?:gif|png|svg)\b",
    re.I,
)
_INLINE = re.compile(r"""(<img\b[^<>]*?\ssrc\s*=\s*["']?\s*)(data:image/([^"'<>]*))""", re.IGNORECASE)
DRAWS = re.compile("<(?:path|rect|circle|ellipse|line|poly|text|image|use|foreignobject)", re.IGNORECASE)
# Shorter GIFs are placeholders.
_SHORTEST_GIF = 200
_OLD_KIND = re.compile(r"image/(?:jpe?g|png|gif)\Z|\.(?:jpe?g|png|gif)(?![\w-])", re.IGNORECASE)
_NEW_FILE = re.compile(r"\.(?:webp|avif)(?![\w-])", re.IGNORECASE)
WIDE_ENOUGH = 1_000
_IDENTIFIER = re.compile(r"[a-z]+(?:[-_][a-z]+)+")
_EMOJI = re.compile(
    r"//(?:s\.w\.org/images/core/emoji|abs\.twimg\.com/emoji|twemoji\.)|fbcdn\.net/images/emoji"
)
_TWICE = re.compile(rf'(<img(?=[^>]* src="([^"]*)"){VALUES}>)\s*<img(?=[^>]* src="\2"){VALUES}>')
_EMPTY = re.compile(rf"<(a|p|figure|center)(?:{VALUES})>(?:\s|&nbsp;)*</\1>")


def is_beacon(url: str) -> bool:
    match = _ADDRESS.match(url)
    if match is None:
        return False
    host, path = match[1].lower(), match[2] or "/"
    known = (path.startswith(start) for name, start in BEACONS if host == name or host.endswith(f".{name}"))
    return any(known) or (host.removeprefix("www."), path) in _EXACT or _PATHS.search(path) is not None


def is_pixel(values: dict[str, str], style: str) -> bool:
    if _HIDDEN.search(style):
        return True
    sizes = {**values, **{name: number for name, number, _ in _SIZE.findall(style)}}
    return all(_NOTHING.fullmatch(sizes.get(side, "2").strip()) for side in ("width", "height"))


def tidied(html: str, base: str) -> tuple[str, bool]:
    """Resolve images, turn styles into sizes and drop tracking pixels.

    An image that cannot be shown becomes its alternative text. The second value is whether an image has no
    address or that of a placeholder.
    """
    unresolved: list[str] = []
    seen = IMG.sub(partial(_image, base=base, unresolved=unresolved), html)
    if seen.count("<img") < html.count("<img"):
        # Also remove a link around it.
        seen = _EMPTY.sub("", _EMPTY.sub("", seen))
    return _TWICE.sub(r"\1", seen), bool(unresolved)


def without_pictures(html: str) -> str:
    return _PICTURE.sub(_of_picture, html)


def with_inline(html: str) -> str:
    """Mark pictures in data: addresses, but not placeholders."""
    return _INLINE.sub(lambda tag: tag[1] + INLINE_BASE if _is_drawn(tag) else tag[0], html)


def _is_drawn(tag: re.Match[str]) -> bool:
    kind = tag[3].lower()
    if kind.startswith("gif"):
        return len(tag[3]) > _SHORTEST_GIF
    if not kind.startswith("svg"):
        return True
    drawing = unquote(unescape(tag[3])) + tag.string[tag.end() : tag.end() + 2_000]
    if ";base64," in kind:
        try:
            drawing = b64decode(tag[3].partition(",")[2] + "==").decode("utf-8", "replace")
        except binascii.Error:
            return False
    return DRAWS.search(drawing) is not None


def best_of(srcset: str) -> str:
    """Return the largest image up to WIDEST, else the smallest (WHATWG HTML §4.8.4.2)."""
    sizes = _sizes_of(srcset)
    fitting = [one for one in sizes if one[0] <= WIDEST]
    return max(fitting)[1] if fitting else min(sizes, default=(0, ""))[1]


def _sizes_of(srcset: str) -> list[tuple[float, str]]:
    sizes = []
    for url, size, unit in _CANDIDATE.findall(srcset[:10_000]):
        number = float(size) if size.strip(".") and size.count(".") < 2 else 1.0
        sizes.append((number * (1 if unit == "w" else 600), url))
    return sizes


def _image(match: re.Match[str], base: str, unresolved: list[str]) -> str:
    values = attributes(match.group(1))
    source, alt = values.get("src", ""), values.get("alt", "").strip()
    # An empty address is resolved to that of the page (WHATWG HTML §4.8.3).
    if base and source in (base, f"{base}/"):
        source, alt = "", "" if _IDENTIFIER.fullmatch(alt) else alt
    if not source or _STAND_IN.search(source):
        late = next((address for one in _late(values) if (address := resolved(one, base))), "")
        if not late:
            unresolved.append(source)
        source = late or source
    style = values.get("style", "").lower()
    if is_pixel(values, style) or is_beacon(source):
        return ""
    if not source or _EMOJI.search(source):
        return escape(alt)
    if source.startswith(INLINE_BASE):
        before = match.string[: match.start()]
        is_linked = not base or before.rfind("<a ") > before.rfind("</a>")
        return escape(alt) or (
            PICTURE if is_linked else f'<a href="{escape(base)}" rel="noopener">{PICTURE}</a>'
        )
    if style:
        values |= _sizes(values, style)
    others = {
        name: values[name]
        for name in KEPT
        if values.get(name) is not None and (values[name] or name == "alt")
    }
    return f"<img{written({'src': source} | others)}>"


def _late(values: Mapping[str, str]) -> Iterator[str]:
    yield from (values[name] for name in LATE if values.get(name))
    yield from (best_of(values[name]) for name in LATE_SETS if values.get(name))
    for name, value in values.items():
        if name.startswith("data-") and _LATE_NAME.search(name) and "://" in value:
            address = best_of(value) if ", " in value or name.endswith("set") else value
            if scheme(address.strip()) in ("http", "https") and _PICTURE_FILE.search(address):
                yield address
    for name, value in values.items():
        # Addresses of image services often have no file extension.
        if name.startswith("data-") and name.endswith(_SAYS_PICTURE) and "://" in value:
            yield value


def _sizes(values: Mapping[str, str], style: str) -> dict[str, str]:
    styled = {name: _pixels(number, unit) for name, number, unit in _SIZE.findall(style)}
    width, most = styled.get("width", ""), styled.get("max-width", "")
    given = values.get("width", "")
    is_less = most.isdecimal() and given.isdecimal() and int(most) < int(given)
    if not width and most != "100%" and (not given or is_less):
        width = most
    if not width:
        return {"height": styled["height"]} if styled.get("height") else {}
    return {"width": width, "height": styled.get("height", "")}


def _pixels(number: str, unit: str) -> str:
    value = float(number)
    return f"{min(value, 100):.0f}%" if unit in ("%", "vw") else f"{value * _UNITS[unit]:.0f}"


def _of_picture(match: re.Match[str]) -> str:
    image = IMG.search(match[1])
    if image is None:
        return ""
    values = attributes(image[1])
    sources = [attributes(source) for source in SOURCE.findall(match[1])]
    if not any(values.get(name) for name in ("src", *LATE, *LATE_SETS)):
        # Not every mail program supports AVIF and WebP.
        known = [one for one in sources if not one.get("type", "").endswith(("avif", "webp"))]
        values["srcset"] = next(filter(None, map(_set_of, known + sources)), "")
    elif _NEW_FILE.search(values.get("src", "")):
        known = [one for one in sources if _OLD_KIND.search(one.get("type") or _set_of(one))]
        if sizes := sorted(_sizes_of(next(filter(None, map(_set_of, known)), ""))):
            values["src"] = next((url for width, url in sizes if width >= WIDE_ENOUGH), sizes[-1][1])
    return f"<img{written(values)}>"


def _set_of(source: Mapping[str, str]) -> str:
    return source.get("srcset") or source.get("data-srcset") or ""
