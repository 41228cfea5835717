"""Relations of h-entries (indieweb.org/authorship, /posts)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from common.formats.written_dates import parsed_moment
from common.text import one_line, shortened
from feeds.parsing.entry import Citation, Person, Social, Spot
from feeds.parsing.fields import MAX_ENTRY_TITLE
from feeds.parsing.media import absolute
from feeds.parsing.people import MAX_LISTED, author_names

MAX_NESTING = 8
_CUT = re.compile(r"(?:…|\.\.\.|\[…\])\s*$")
Microformat = Mapping[str, Any]
REFERRING = ("in-reply-to", "like-of", "repost-of", "bookmark-of", "quotation-of")
MAX_RELATIONS = 20
MAX_SAID = 200
MAX_QUOTED = 2_000
_DAY = re.compile(r"\d{4}-\d\d-\d\d\Z")
_DEGREES = re.compile(r"\s*-?\d{1,3}(\.\d{1,15})?\s*")


def found_in(items: object, kind: str, depth: int = 0) -> Iterator[Microformat]:
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict) or depth > MAX_NESTING:
            continue
        if kind in (item.get("type") or ()):
            yield item
        else:
            yield from found_in(item.get("children"), kind, depth + 1)


def link_of(item: Microformat, url: str) -> str:
    links = (absolute(address_of(value), url) for key in ("url", "uid") for value in values_of(item, key))
    return next(filter(None, links), "")


def title_of(item: Microformat) -> str:
    """Return the name unless it copies the text (implied)."""
    name, content = one_line(text_of(item, "name")[: 10 * MAX_ENTRY_TITLE]), one_line(content_text(item))
    beginning = _CUT.sub("", name).strip()
    if name and (name == content or (beginning != name and content.startswith(beginning))):
        return ""
    return shortened(name, MAX_ENTRY_TITLE)


def content_text(item: Microformat) -> str:
    value = next(iter(values_of(item, "content")), "")
    return plain_of(value)[: 100 * MAX_ENTRY_TITLE]


def values_of(item: Microformat, key: str) -> list[Any]:
    properties = item.get("properties")
    value = properties.get(key) if isinstance(properties, dict) else None
    return value if isinstance(value, list) else []


def text_of(item: Microformat, key: str) -> str:
    return plain_of(next(iter(values_of(item, key)), ""))


def plain_of(value: object) -> str:
    text = value.get("value") if isinstance(value, dict) else value
    return text if isinstance(text, str) else ""


def address_of(value: object) -> str:
    if isinstance(value, dict):
        return next((one for one in values_of(value, "url") if isinstance(one, str)), "") or plain_of(value)
    return plain_of(value)


def social_of(post: Microformat, url: str, cards: Mapping[str, Person], owners: tuple[Person, ...]) -> Social:
    seen = post.get("social") or {}
    cited = [
        (kind, value)
        for kind in REFERRING
        for value in values_of(seen, kind)
        if absolute(address_of(value), url)
    ][:MAX_RELATIONS]
    checkin = next((_spot(value, url) for value in values_of(seen, "checkin")), None)
    place = next((_spot(value, url) for value in values_of(seen, "location")), None)
    syndication = (absolute(address_of(value), url) for value in values_of(seen, "syndication"))
    start = _iso(text_of(seen, "start"))
    return Social(
        people=cards_of(post, url, cards) or owners,
        kind="event" if start else "",
        relations=tuple((kind, absolute(address_of(value), url)) for kind, value in cited),
        refs=tuple(_citation(value, url) for _, value in cited if isinstance(value, dict)),
        syndication=tuple(dict.fromkeys(filter(None, syndication)))[:MAX_RELATIONS],
        rsvp=shortened(one_line(text_of(seen, "rsvp")).lower(), MAX_SAID),
        start=start,
        end=_iso(text_of(seen, "end")),
        place=place,
        checkin=checkin,
    )


def cards_of(item: Microformat, url: str, cards: Mapping[str, Person]) -> tuple[Person, ...]:
    return tuple(
        filter(None, (_person(value, url, cards) for value in values_of(item, "author")[:MAX_LISTED]))
    )


def _person(value: object, url: str, cards: Mapping[str, Person]) -> Person | None:
    if isinstance(value, dict):
        address = next((absolute(address_of(one), url) for one in values_of(value, "url")), "")
        name = ", ".join(author_names([text_of(value, "name") or plain_of(value)]))
        return Person(name, address, photo_of(value, url)) if name or address else None
    text = plain_of(value)
    if text.startswith(("http://", "https://")):
        address = absolute(text, url)
        return cards.get(address, Person("", address)) if address else None
    name = ", ".join(author_names([text]))
    return Person(name) if name else None


def photo_of(card: Microformat, url: str) -> str:
    return next(filter(None, (absolute(address_of(one), url) for one in values_of(card, "photo"))), "")


def _citation(value: Microformat, url: str) -> Citation:
    author = next(iter(values_of(value, "author")), "")
    return Citation(
        absolute(address_of(value), url),
        name=title_of(value),
        text=shortened(one_line(content_text(value)), MAX_QUOTED),
        author=_person(author, url, {}) or Person(),
    )


def _spot(value: object, url: str) -> Spot | None:
    if not isinstance(value, dict):
        return Spot(_words(plain_of(value))) if plain_of(value).strip() else None
    geo = next((one for one in values_of(value, "geo") if isinstance(one, dict)), value)
    spot = Spot(
        _words(text_of(value, "name") or plain_of(value)),
        next(filter(None, (absolute(address_of(one), url) for one in values_of(value, "url"))), ""),
        _degrees(text_of(geo, "latitude")),
        _degrees(text_of(geo, "longitude")),
    )
    return None if spot == Spot() else spot


def _degrees(text: str) -> str:
    return text.strip() if _DEGREES.fullmatch(text) else ""


def _iso(text: str) -> str:
    """Return a moment with offset, a day, or ""."""
    moment = parsed_moment(text)
    if moment is None:
        return ""
    return text.strip() if _DAY.match(text.strip()) else moment.isoformat()


def _words(text: str) -> str:
    return shortened(one_line(text[: 10 * MAX_SAID]), MAX_SAID)
