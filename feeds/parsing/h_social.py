"""Relations of an h-entry to posts, people and places (indieweb.org/authorship, /posts)."""

import re
from collections.abc import Mapping

from common.text import one_line, shortened
from feeds.parsing.dates import moment_of
from feeds.parsing.entry import Citation, Person, Social, Spot
from feeds.parsing.h_values import (
    Microformat,
    address_of,
    content_text,
    plain_of,
    text_of,
    title_of,
    values_of,
)
from feeds.parsing.media import absolute
from feeds.parsing.people import MAX_LISTED, author_names

REFERRING = ("in-reply-to", "like-of", "repost-of", "bookmark-of", "quotation-of")
MAX_RELATIONS = 20
MAX_SAID = 200
MAX_QUOTED = 2_000
_DAY = re.compile(r"\d{4}-\d\d-\d\d\Z")
_DEGREES = re.compile(r"\s*-?\d{1,3}(\.\d{1,15})?\s*")


def social_of(post: Microformat, url: str, cards: Mapping[str, Person], owners: tuple[Person, ...]) -> Social:
    """Return an h-entry's facts for the reader. `cards` by address; `owners`: authors of the h-feed."""
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
    """Return authors with addresses and photos, completed from their h-cards."""
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
    """Return the place of an h-card, h-adr or h-geo, or of a name."""
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
    found = moment_of(text)
    if found is None:
        return ""
    return text.strip() if _DAY.match(text.strip()) else found.isoformat()


def _words(text: str) -> str:
    return shortened(one_line(text[: 10 * MAX_SAID]), MAX_SAID)
