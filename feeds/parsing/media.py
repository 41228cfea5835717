"""Addresses in an entry, and the pictures and sounds behind them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from common.html.clean import plain
from common.text import shortened, without_controls
from feeds.parsing.entry import Media

# WHATWG URL §3.5: what no host may contain.
_HOST = re.compile(r"[^\x00-\x20#/<>?@\[\\\]^|%\x7f]+")

MAX_ABSOLUTE_URL = 10_000
MAX_ALT = 2_000
MAX_MEDIA = 50


def absolute(url: object, base: str) -> str:
    """The http(s) address that `url` means on a page at `base`; "" when it is none or too long."""
    if not url:
        return ""
    text = without_controls(str(url)).strip().replace("\n", "").replace("\r", "").replace("\t", "")
    text = text.replace(" ", "%20")
    if not text or len(text) > MAX_ABSOLUTE_URL:
        return ""
    try:
        joined = text if text.startswith(("https://", "http://")) else urljoin(base, text)
        parts = urlsplit(joined)
        # Asking for the port raises ValueError where it is not a number of a port.
        sound = (
            parts.scheme in ("http", "https") and _HOST.fullmatch(parts.hostname or "") and parts.port != 0
        )
        return joined if sound else ""
    except ValueError:
        return ""


def media_of(raw: dict[str, Any], base: str) -> tuple[Media, ...]:
    """media:content first, then enclosures; as `distinct` has them."""
    contents = (_content(one, base) for one in raw.get("media_content") or ())
    links = (one for one in raw.get("links") or () if dict.get(one, "rel") == "enclosure")
    enclosures = (
        Media(absolute(one.get("href"), base), type_of(one.get("type")), length_of(one.get("length")))
        for one in links
    )
    return distinct((*contents, *enclosures))


def distinct(media: Iterable[Media]) -> tuple[Media, ...]:
    """Each address once, at most fifty; without those that have no address."""
    found: dict[str, Media] = {}
    for medium in media:
        if medium.url:
            found.setdefault(medium.url, medium)
        if len(found) == MAX_MEDIA:
            break
    return tuple(found.values())


def is_image(one: Mapping[str, Any]) -> bool:
    """Whether a media:content is a picture."""
    return _content(one, "").is_image


def _content(one: Mapping[str, Any], base: str) -> Media:
    alt = shortened(plain(str(one.get("description") or "")), MAX_ALT)
    type_ = type_of(one.get("type")) or type_of(one.get("medium"))
    return Media(absolute(one.get("url"), base), type_, length_of(one.get("filesize")), alt)


def type_of(value: object) -> str:
    """A media type, or a word such as "image"; "" for a text that cannot be one."""
    text = str(value or "").strip().lower()
    return text if re.fullmatch(r"[a-z0-9][a-z0-9!#$&^_.+/;= -]{0,99}", text) else ""


def length_of(value: object) -> int | None:
    """A positive number of bytes, or None."""
    # JSON writers that know floats only say 1024.0.
    match = re.fullmatch(r"([0-9]{1,15})(?:\.0{0,15})?", str(value or "").strip())
    return int(match.group(1)) or None if match else None


def image_of(raw: dict[str, Any], base: str) -> str:
    """The picture that stands for the post: its thumbnail, or the episode's image."""
    thumbnails = raw.get("media_thumbnail") or [{}]
    image = raw.get("image") or {}
    href = dict.get(image, "href") if isinstance(image, dict) else ""
    return absolute(thumbnails[0].get("url"), base) or absolute(href, base)
