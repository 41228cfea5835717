"""The images of a post that was cleaned: each with an address that shows it, or none at all. Pure.

Pictures and frames that only count readers go: those of one pixel, and those of a short list of hosts that
do nothing else.
"""

import re
from functools import partial
from html import escape

from common.html.tags import VALUES, attributes, resolved, written

# Host (and those below it) and the beginning of the path.
BEACONS = (
    ("feeds.feedburner.com", "/~"),  # ~r a pixel, ~ff a row of buttons
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
    ("rss.buysellads.com", "/"),
)
# On whatever host: Matomo, Mailchimp and their like.
_PATHS = re.compile(r"/(?:matomo|piwik)\.php|/track/open\.php|/__utm\.gif|/mf\.gif\Z", re.IGNORECASE)
_EXACT = {("facebook.com", "/tr"), ("facebook.com", "/tr/")}
_ADDRESS = re.compile(r"https?://(?:[^/?#@]*@)?([^/?#:]+)(?::\d+)?(/[^?#]*)?", re.IGNORECASE)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0?(?:\.0+)?\s*(?:;|\Z)")
_SIZE = re.compile(r"(width|height)\s*:\s*([\d.]+)")
_NOTHING = re.compile(r"0*[01]?(\.0*)?(px)?")
# Attributes from which scripts that load images late take the address.
LATE = ("data-src", "data-lazy-src", "data-original")
LATE_SETS = ("srcset", "data-srcset", "data-lazy-srcset")
# The attributes that an image keeps beside its address.
KEPT = ("alt", "width", "height", "title", "lang", "dir")
WIDEST = 1_200
_IMG = re.compile(f"<img({VALUES})>")
_PICTURE = re.compile(r"<picture[^>]*>(.*?)</picture>", re.DOTALL)
_SOURCE = re.compile(f"<source({VALUES})>")
_CANDIDATE = re.compile(r"([^\s,]\S*[^\s,])(?:\s+([\d.]+)([wx]))?\s*(?:,|\Z)")
_STAND_IN = re.compile(
    r"(?:^data:|/[^/]*(?:placeholder|blank|spacer|pixel|1x1|transparent|lazy)[^/]*\.\w+)", re.I
)
_EMOJI = re.compile(
    r"//(?:s\.w\.org/images/core/emoji|abs\.twimg\.com/emoji|twemoji\.)|fbcdn\.net/images/emoji"
)
_TWICE = re.compile(rf'(<img(?=[^>]* src="([^"]*)"){VALUES}>)\s*<img(?=[^>]* src="\2"){VALUES}>')
_EMPTY = re.compile(rf"<(a|p|figure|center)(?:{VALUES})>(?:\s|&nbsp;)*</\1>")


def is_beacon(url: str) -> bool:
    """Whether the picture at this address only counts its readers."""
    match = _ADDRESS.match(url)
    if match is None:
        return False
    host, path = match[1].lower(), match[2] or "/"
    known = (path.startswith(start) for name, start in BEACONS if host == name or host.endswith(f".{name}"))
    return any(known) or (host.removeprefix("www."), path) in _EXACT or _PATHS.search(path) is not None


def is_pixel(values: dict[str, str], style: str) -> bool:
    """Whether an element of these attributes and this style is too small to be seen, or hidden."""
    if _HIDDEN.search(style):
        return True
    sizes = {**values, **dict(_SIZE.findall(style))}
    return all(_NOTHING.fullmatch(sizes.get(side, "2").strip()) for side in ("width", "height"))


def tidied(html: str, base: str) -> str:
    """The images with addresses that show something, without style; beacons are gone.

    `base` is the page's address. An image that cannot be shown is replaced by its alternative text.
    """
    seen = _IMG.sub(partial(_image, base=base), html)
    if seen.count("<img") < html.count("<img"):
        # An element that held nothing but a beacon; and the link around that element.
        seen = _EMPTY.sub("", _EMPTY.sub("", seen))
    return _TWICE.sub(r"\1", seen)


def without_pictures(html: str) -> str:
    """`<picture>` becomes its image; one without an address gets that of a source."""
    return _PICTURE.sub(_of_picture, html)


def best_of(srcset: str) -> str:
    """The largest image of a srcset (WHATWG HTML §4.8.4.2) that a letter has room for, else the smallest."""
    sizes = []
    for url, size, unit in _CANDIDATE.findall(srcset[:10_000]):
        number = float(size) if size.strip(".") and size.count(".") < 2 else 1.0
        sizes.append((number * (1 if unit == "w" else 600), url))
    fitting = [one for one in sizes if one[0] <= WIDEST]
    return max(fitting)[1] if fitting else min(sizes, default=(0, ""))[1]


def _image(match: re.Match[str], base: str) -> str:
    values = attributes(match.group(1))
    source, alt = values.get("src", ""), values.get("alt", "").strip()
    if not source or _STAND_IN.search(source):
        late = [values[name] for name in LATE if values.get(name)]
        late += [best_of(values[name]) for name in LATE_SETS if values.get(name)]
        source = next((address for one in late if (address := resolved(one, base))), source)
    if is_pixel(values, values.get("style", "").lower()) or is_beacon(source):
        return ""
    if not source or _EMOJI.search(source):
        return escape(alt)
    others = {name: values[name] for name in KEPT if name in values}
    return f"<img{written({'src': source} | others)}>"


def _of_picture(match: re.Match[str]) -> str:
    image = _IMG.search(match[1])
    if image is None:
        return ""
    values = attributes(image[1])
    if not any(values.get(name) for name in ("src", *LATE, *LATE_SETS)):
        sources = [attributes(source) for source in _SOURCE.findall(match[1])]
        # Not every mail program knows AVIF and WebP.
        known = [one for one in sources if not one.get("type", "").endswith(("avif", "webp"))]
        sets = (one.get(name, "") for one in known + sources for name in ("srcset", "data-srcset"))
        values["srcset"] = next(filter(None, sets), "")
    return f"<img{written(values)}>"
