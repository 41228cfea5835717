"""Addresses in an entry, and the pictures and sounds behind them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from common.html import plain
from common.text import shortened, without_controls
from feeds.parsing.entry import Media

MAX_URL = 10_000
MAX_ALT = 2_000
MAX_MEDIA = 50


def absolute(url: object, base: str) -> str:
    """The http(s) address that `url` means on a page at `base`; "" when it is none or too long."""
    text = without_controls(str(url or "")).strip().replace("\n", "").replace("\r", "").replace("\t", "")
    if not text or len(text) > MAX_URL:
        return ""
    try:
        joined = urljoin(base, text)
        parts = urlsplit(joined)
        return joined if parts.scheme in ("http", "https") and parts.hostname else ""
    except ValueError:
        return ""


def media_of(raw: Mapping[str, Any], base: str) -> Iterator[Media]:
    """media:content first, then enclosures; each address once, at most fifty."""
    contents = (_content(one, base) for one in raw.get("media_content") or ())
    links = (one for one in raw.get("links") or () if one.get("rel") == "enclosure")
    enclosures = (
        Media(absolute(one.get("href"), base), _type(one.get("type")), _length(one.get("length")))
        for one in links
    )
    found: dict[str, Media] = {}
    for medium in (*contents, *enclosures):
        if medium.url and medium.url not in found and len(found) < MAX_MEDIA:
            found[medium.url] = medium
    yield from found.values()


def is_image(one: Mapping[str, Any]) -> bool:
    """Whether a media:content is a picture."""
    return _content(one, "").is_image


def _content(one: Mapping[str, Any], base: str) -> Media:
    alt = shortened(plain(str(one.get("description") or "")), MAX_ALT)
    type_ = _type(one.get("type")) or _type(one.get("medium"))
    return Media(absolute(one.get("url"), base), type_, _length(one.get("filesize")), alt)


def _type(value: object) -> str:
    text = str(value or "").strip().lower()
    return text if re.fullmatch(r"[a-z0-9][a-z0-9!#$&^_.+/;= -]{0,99}", text) else ""


def _length(value: object) -> int | None:
    text = str(value or "").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,15}", text) and int(text) else None


def image_of(raw: Mapping[str, Any], base: str) -> str:
    """The picture that stands for the post: its thumbnail, or the episode's image."""
    thumbnails = raw.get("media_thumbnail") or [{}]
    image = raw.get("image") or {}
    href = image.get("href") if isinstance(image, dict) else ""
    return absolute(thumbnails[0].get("url"), base) or absolute(href, base)
