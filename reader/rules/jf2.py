"""Posts as jf2 (https://jf2.spec.indieweb.org).

Some properties are always lists, and empty values are absent: clients fail otherwise.

Post types (indieweb.org/post-type-discovery).
"""

import html
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from common.html.balance import TAG
from common.html.clean import plain
from common.text import one_line, shortened, without_controls
from feeds.parsing.entry import Citation, Entry, Person, Spot
from feeds.parsing.identity import canonical, link_hash
from feeds.parsing.media import absolute
from feeds.parsing.pictures import file_key, files_of, type_by_ending
from reader.rules.search import searched_line

# The first counts: an rsvp is also a reply.
BY_RELATION = {
    "repost-of": "repost",
    "like-of": "like",
    "bookmark-of": "bookmark",
    "rsvp": "rsvp",
    "in-reply-to": "reply",
}
KINDS = (
    "article",
    "note",
    "photo",
    "video",
    "audio",
    "reply",
    "repost",
    "like",
    "bookmark",
    "checkin",
    "event",
    "rsvp",
)
BY_MEDIA = ("checkin", "photo", "video", "audio")
MAX_NAME = 1_000
MAX_TEXT = 500_000
MAX_SEARCHED = 20_000
# Line ends of sanitized HTML.
_BREAK = re.compile(
    r"(?:</?(?:address|article|aside|blockquote|caption|center|dd|details|div|dl|dt|figcaption|figure|footer"
    r"|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|summary|table|tbody|tfoot|thead|tr|ul)\b[^<>]*>)+|<br>"
)
_LINES = re.compile(r"\s*\n\s*\n\s*")
Jf2 = dict[str, Any]


def post_jf2(entry: Entry, *, feed: Person, seen_at: datetime) -> Jf2:
    """Expects sanitized HTML; other values are limited and checked here.

    `feed` replaces a missing author, `seen_at` a missing date.
    """
    social = entry.social
    title = shortened(one_line(entry.title), MAX_NAME)
    content = content_of(entry)
    published = entry.published or entry.updated or seen_at
    kinds = ((one.type or type_by_ending(one.url)).partition("/")[0] for one in entry.media)
    media = list(zip(kinds, (absolute(one.url, "") for one in entry.media), strict=True))
    # As links in the text.
    photos = [url for kind, url in media if kind == "image"] if not entry.sensitive else []
    image = absolute(entry.image, "") if not entry.sensitive else ""
    relations: dict[str, list[str]] = {}
    for kind, url in social.relations:
        relations.setdefault(kind, []).append(absolute(url, ""))
    post: Jf2 = {
        "type": "event" if social.kind == "event" else "entry",
        "url": absolute(entry.link, ""),
        "published": published.isoformat(),
        "updated": entry.updated.isoformat() if entry.updated else "",
        "name": "" if title and title == one_line(content.get("text", "")) else title,
        "summary": entry.warning or (shortened(plain(entry.summary), MAX_NAME) if entry.content else ""),
        "content": content,
        "author": _person(_author(entry, feed)),
        "category": _each(map(one_line, entry.categories)),
        "photo": _each(photos),
        "video": _each(url for kind, url in media if kind == "video"),
        "audio": _each(url for kind, url in media if kind == "audio"),
        "featured": [image] if image and file_key(image) not in map(file_key, photos) else [],
        "syndication": _each(absolute(url, "") for url in social.syndication),
        **{kind: _each(urls) for kind, urls in relations.items()},
        "rsvp": social.rsvp,
        "start": social.start,
        "end": social.end,
        "location": _spot(social.place),
        "checkin": _spot(social.checkin),
        "refs": {one.url: _cite(one) for one in social.refs if absolute(one.url, "")},
    }
    return without_nothing(post)


def texts_of(jf2: Mapping[str, Any]) -> list[str]:
    """Return the fields that are searched and filtered, without empty ones."""
    author, content = jf2.get("author") or {}, jf2.get("content") or {}
    words = (jf2.get("name"), author.get("name"), *jf2.get("category", ()))
    return [str(text) for text in (*words, jf2.get("summary"), content.get("text")) if text]


def searched_text(jf2: Mapping[str, Any]) -> str:
    return searched_line(texts_of(jf2), MAX_SEARCHED)


def without_nothing(values: Mapping[str, Any]) -> Jf2:
    return {key: value for key, value in values.items() if value not in ("", [], {}, None)}


def content_of(entry: Entry) -> Jf2:
    markup = without_controls(entry.html)[:MAX_TEXT]
    if entry.sensitive:
        urls = (absolute(one.url, "") for one in files_of(entry) if one.is_image)
        markup += "".join(
            f'<p><a href="{html.escape(url)}">{html.escape(url)}</a></p>' for url in urls if url
        )
    text = html.unescape(TAG.sub("", _BREAK.sub("\n", markup)))
    return without_nothing({"html": markup, "text": _LINES.sub("\n\n", text).strip()})


def _author(entry: Entry, feed: Person) -> Person:
    if entry.social.people:
        person = entry.social.people[0]
        return (
            person if person.name or not entry.authors else Person(entry.authors[0], person.url, person.photo)
        )
    if entry.authors:
        # The address is the feed's.
        return Person(entry.authors[0], feed.url, feed.photo)
    return feed


def _card(name: str, url: str, **more: str) -> Jf2:
    """Return {} for nobody and nowhere."""
    values = without_nothing({"name": shortened(one_line(name), MAX_NAME), "url": absolute(url, ""), **more})
    return {"type": "card", **values} if values else {}


def _person(person: Person) -> Jf2:
    return _card(person.name, person.url, photo=absolute(person.photo, ""))


def _cite(one: Citation) -> Jf2:
    return without_nothing(
        {
            "type": "cite",
            "url": one.url,
            "name": shortened(one_line(one.name), MAX_NAME),
            "content": {"text": one.text} if one.text else {},
            "author": _person(one.author),
        }
    )


def _spot(spot: Spot | None) -> Jf2:
    if spot is None:
        return {}
    return _card(spot.name, spot.url, latitude=spot.latitude, longitude=spot.longitude)


def _each(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text]


def kind_of(jf2: Mapping[str, Any]) -> str:
    if jf2.get("type") == "event":
        return "event"
    for name, kind in BY_RELATION.items():
        if jf2.get(name):
            return kind
    for name in BY_MEDIA:
        if jf2.get(name):
            return name
    return "article" if jf2.get("name") else "note"


def author_key(url: str) -> str:
    """Return 32 hex digits, equal for spellings of one address; "" for none."""
    return link_hash(canonical(url).rstrip("/"))
