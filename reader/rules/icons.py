"""Icons that web pages declare (WHATWG HTML §4.6.7.8)."""

from urllib.parse import urljoin, urlsplit

from feeds.parsing.discovery import StartTag, start_tags
from feeds.parsing.media import absolute

MOST = 4
# Pixels: 20 CSS pixels at triple density.
WANTED_PIXELS = 64
USUAL_SIZES = {"icon": 16, "apple-touch-icon": 180, "apple-touch-icon-precomposed": 180}


def icons_of(html: str, url: str) -> list[str]:
    """Return the best first, without SVG, which may have scripts."""
    base = url
    sizes: dict[str, int] = {}
    for tag in start_tags(html):
        if tag.name == "base" and base == url:
            base = urljoin(url, tag.get("href"))
        kinds = tag.tokens("rel") & USUAL_SIZES.keys() if tag.name == "link" else set()
        address = absolute(tag.get("href"), base)
        if kinds and address and not _is_svg(tag, address):
            size = _size(tag.get("sizes")) or max(USUAL_SIZES[kind] for kind in kinds)
            sizes.setdefault(address, size)
    best = sorted(
        sizes, key=lambda address: (sizes[address] < WANTED_PIXELS, abs(sizes[address] - WANTED_PIXELS))
    )
    parts = urlsplit(url)
    return list(dict.fromkeys([*best[:MOST], f"{parts.scheme}://{parts.netloc}/favicon.ico"]))


def _is_svg(tag: StartTag, address: str) -> bool:
    return "svg" in tag.get("type").lower() or urlsplit(address).path.lower().endswith(".svg")


def _size(text: str) -> int:
    width = text.lower().partition("x")[0].strip()
    return int(width) if width.isascii() and width.isdecimal() and len(width) < 5 else 0
