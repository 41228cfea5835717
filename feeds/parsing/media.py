import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter
from typing import Any
from urllib.parse import urljoin, urlsplit

from common.html.embeds import own_page
from common.html.images import WIDEST
from common.html.titles import plain_title
from common.text import shortened, without_controls, words
from feeds.parsing.entry import Media
from feeds.parsing.identity import canonical
from feeds.parsing.pictures import Picture, file_key, type_by_ending

# WHATWG URL §3.5.
_HOST = re.compile(r"[^\x00-\x20#/<>?@\[\\\]^|%\x7f]+")

MAX_ABSOLUTE_URL = 10_000
MAX_ALT = 2_000
MAX_MEDIA = 50
MAX_RENDITIONS = 200
PLAYED_EVERYWHERE = words("video/mp4 audio/mpeg audio/mp4 audio/x-m4a audio/mp3")
SAYS_NOTHING = frozenset(
    ("", "application/octet-stream", "binary/octet-stream", "application/force-download", "document")
)


def absolute(url: object, base: str) -> str:
    """Return an http(s) address or ""."""
    if not url:
        return ""
    text = without_controls(str(url)).strip().replace("\n", "").replace("\r", "").replace("\t", "")
    text = text.replace(" ", "%20")
    if not text or len(text) > MAX_ABSOLUTE_URL:
        return ""
    try:
        joined = text if text.startswith(("https://", "http://")) else urljoin(base, text)
        parts = urlsplit(joined)
        # An invalid port raises ValueError.
        sound = (
            parts.scheme in ("http", "https") and _HOST.fullmatch(parts.hostname or "") and parts.port != 0
        )
        return joined if sound else ""
    except ValueError:
        return ""


@dataclass(frozen=True, slots=True)
class Rendition:
    """One size or format; `group` is shared by all of one thing."""

    medium: Media
    group: str = ""
    width: int = 0
    bitrate: int = 0
    is_default: bool = False


def renditions_of(raw: dict[str, Any], base: str, link: str) -> list[Rendition]:
    contents = raw.get("media_content")
    files = [_content(one, base) for one in contents] if contents else []
    for one in raw.get("links") or ():
        if dict.get(one, "rel") == "enclosure":
            url, length = absolute(one.get("href"), base), length_of(one.get("length"))
            files.append(Rendition(medium(url, one.get("type"), length=length)))
    return [one for one in one_of_each(files) if not _is_player(one.medium, link)] if files else []


def distinct(media: Iterable[Media]) -> tuple[Media, ...]:
    return tuple(one.medium for one in one_of_each(map(Rendition, media)))


def one_of_each(renditions: Iterable[Rendition]) -> list[Rendition]:
    """Return the best rendition of each thing, at most fifty.

    Renditions share a group, or differ in size or query of the address.
    """
    by_address: dict[str, Rendition] = {}
    for one in islice(renditions, MAX_RENDITIONS):
        if one.medium.url:
            by_address.setdefault(one.medium.url, one)
    known = list(by_address.values())
    if len(known) < 2:
        return known
    groups: dict[str, list[Rendition]] = {}
    places: dict[str, str] = {}
    for one in known:
        # A picture among films is a poster.
        group = f"group {one.medium.is_image} {one.group}" if one.group else ""
        key = file_key(one.medium.url)
        place = places.get(group) or places.get(key) or group or key
        places |= {key: place, **({group: place} if group else {})}
        groups.setdefault(place, []).append(one)
    return [_best(those) for those in list(groups.values())[:MAX_MEDIA]]


def _best(renditions: Sequence[Rendition]) -> Rendition:
    """Prefer the default, the widest picture that fits, the largest mp4 or mp3."""
    if len(renditions) == 1:
        return renditions[0]
    fitting = [one for one in renditions if 0 < one.width <= WIDEST]
    default = next((one for one in renditions if one.is_default), None)
    if default is None and renditions[0].medium.is_image:
        too_wide = [one for one in renditions if one.width > WIDEST]
        width = attrgetter("width")
        default = max(fitting, key=width) if fitting else min(too_wide or renditions[:1], key=width)
    best = default or max(renditions, key=_worth)
    alt = next((one.medium.alt for one in renditions if one.medium.alt), "")
    lengths = (
        one.medium.length for one in renditions if file_key(one.medium.url) == file_key(best.medium.url)
    )
    length = best.medium.length or next(filter(None, lengths), None)
    return replace(best, medium=replace(best.medium, alt=best.medium.alt or alt, length=length))


def _worth(one: Rendition) -> tuple[bool, int, int, int]:
    return (one.medium.type in PLAYED_EVERYWHERE, one.medium.length or 0, one.bitrate, one.width)


def medium(url: str, type_: object, *, length: int | None = None, alt: str = "") -> Media:
    """Flash has no address."""
    kind = type_of(type_)
    if kind in SAYS_NOTHING and (guess := type_by_ending(url)).startswith("image"):
        kind = guess
    is_flash = "shockwave-flash" in kind or url.partition("?")[0].lower().endswith(".swf")
    return Media("" if is_flash else url, kind, length, alt)


def _is_player(one: Media, link: str) -> bool:
    """A page with a player is no file."""
    page = own_page(one.url)[0] if link else ""
    is_page = page != one.url or "html" in one.type
    return bool(link) and is_page and canonical(page) == canonical(own_page(link)[0])


def is_image(one: Mapping[str, Any]) -> bool:
    return _content(one, "").medium.is_image


def _content(one: Mapping[str, Any], base: str) -> Rendition:
    alt = shortened(plain_title(str(one.get("description") or "")), MAX_ALT)
    url = absolute(one.get("url"), base)
    kind = type_of(one.get("type")) or type_of(one.get("medium"))
    return Rendition(
        medium(
            url,
            type_by_ending(url) or kind if kind in SAYS_NOTHING else kind,
            length=length_of(one.get("filesize")),
            alt=alt,
        ),
        group=str(one.get("group") or ""),
        width=number_of(one.get("width")),
        bitrate=number_of(one.get("bitrate")),
        is_default=str(one.get("isdefault") or "").strip().lower() == "true",
    )


def number_of(value: object) -> int:
    match = re.fullmatch(r"([0-9]{1,7})(?:\.[0-9]{0,15})?(?:px)?", str(value or "").strip())
    return int(match.group(1)) if match else 0


def type_of(value: object) -> str:
    text = str(value or "").strip().lower()
    return text if re.fullmatch(r"[a-z0-9][a-z0-9!#$&^_.+/;= -]{0,99}", text) else ""


def length_of(value: object) -> int | None:
    # Some writers have floats: 1024.0.
    match = re.fullmatch(r"([0-9]{1,15})(?:\.0{0,15})?", str(value or "").strip())
    return int(match.group(1)) or None if match else None


def image_of(raw: dict[str, Any], base: str) -> Picture | None:
    if thumbnails := raw.get("media_thumbnail"):
        sizes = (
            Rendition(
                Media(absolute(one.get("url"), base), "image"), "thumbnail", number_of(one.get("width"))
            )
            for one in thumbnails
        )
        for best in one_of_each(sizes):
            return Picture(best.medium.url, width=best.width)
    image = raw.get("image")
    url = absolute(dict.get(image, "href"), base) if isinstance(image, dict) else ""
    return Picture(url) if url else None
