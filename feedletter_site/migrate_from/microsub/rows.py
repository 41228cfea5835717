"""Interpretation of Indiekit's Microsub documents. Pure."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from common.html.titles import plain_title
from common.patterns import MATCHES, InvalidPattern, check_pattern
from common.text import one_line, shortened, without_controls
from feedletter_site.migrate_from.microsub.documents import Document
from feeds.parsing.dates import moment_of
from feeds.parsing.duplicate_guids import SYNTHETIC
from feeds.parsing.entry import Entry as Post
from feeds.parsing.entry import Media, Person, Social
from feeds.parsing.fields import MAX_CONTENT, MAX_ENTRY_TITLE
from feeds.parsing.media import MAX_MEDIA, absolute, distinct
from feeds.parsing.people import author_names, listed
from feeds.parsing.plain_html import paragraphs
from reader.channels.taken_over import OldPost
from reader.rules.filters import LONGEST_TERM
from reader.rules.kinds import KINDS

DEFAULT = "default"
LONGEST_VALUE = 10_000
RELATIONS = {
    "likeOf": "like-of",
    "repostOf": "repost-of",
    "bookmarkOf": "bookmark-of",
    "inReplyTo": "in-reply-to",
}
# Of JavaScript; they mean something else in our expressions.
_OTHER_MEANING = re.compile(r"\\[AaZzGKRXhHQELNpPmM]|\[\^?[\[\]]")
_ID = re.compile(r"[0-9a-f]{24}")
_KEPT = ("maxItems", "maxItemsPerFeed", "maxUnreadAgeDays")


@dataclass(frozen=True, slots=True)
class OldChannel:
    """`owner` is "" for nobody. `lost` settings have no equivalent."""

    key: str
    uid: str
    name: str
    order: float
    owner: str
    kinds: tuple[str, ...] = ()
    term: str = ""
    lost: tuple[str, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class OldFeed:
    key: str
    channel: str
    url: str
    title: str
    site_url: str
    trouble: str


def channel_of(document: Document) -> OldChannel:
    settings = _dict(document, "settings")
    types = [one_line(text) for text in _texts(settings.get("excludeTypes"))]
    term, trouble = _term(_text(settings, "excludeRegex"))
    lost = [f"{name} {settings[name]}"[:100] for name in _KEPT if _number(settings.get(name))]
    if unknown := [kind for kind in types if kind not in KINDS]:
        lost.append(f"excludeTypes {', '.join(unknown)}"[:200])
    uid, kinds = _text(document, "uid"), tuple(kind for kind in KINDS if kind in types)
    if len(kinds) == len(KINDS):
        lost.append("excludeTypes (all of them)")
        kinds = ()
    return OldChannel(
        key=_key(document),
        uid=uid,
        name=one_line(_text(document, "name")) or uid,
        order=_number(document.get("order")),
        owner=_text(document, "userId"),
        kinds=kinds,
        term=term,
        lost=tuple(lost),
        trouble=trouble,
    )


def feed_of(document: Document) -> OldFeed:
    status = one_line(_text(document, "status"))
    error = one_line(_text(document, "lastError")) if status == "error" else ""
    return OldFeed(
        key=_key(document),
        channel=_text(document, "channelId"),
        url=_text(document, "url").strip(),
        title=one_line(_text(document, "title")),
        site_url=_text(document, "siteUrl").strip(),
        trouble=shortened(error, 200) or ("without a reason" if status == "error" else ""),
    )


def _term(pattern: str) -> tuple[str, str]:
    """Return a filter's term and why there is none. There it ignored case, and slashes were literal."""
    if not pattern.strip():
        return "", ""
    term = f"/{pattern}/i"
    if len(term) > LONGEST_TERM or term != one_line(term):
        return "", f"It has more than one line or {LONGEST_TERM} characters."
    if _OTHER_MEANING.search(pattern):
        return "", "It uses signs that have another meaning here."
    try:
        check_pattern(MATCHES, f"(?i){pattern}")
    except InvalidPattern as error:
        return "", str(error)
    return term, ""


def is_stripped(document: Document) -> bool:
    return bool(document.get("_stripped"))


def is_read(document: Document, owners: Collection[str]) -> bool:
    return is_stripped(document) or any(text in owners for text in _texts(document.get("readBy"), 1_000))


def own_id(document: Document) -> str:
    """Return the feed's id of a post, or ""."""
    return without_controls(_text(_dict(document, "source"), "originalId")).strip()


def known_ids(document: Document) -> tuple[str, str]:
    """Return its digest there and the feed's address at the time."""
    return _text(document, "uid"), _text(_dict(document, "source"), "feedUrl")


def digests_of(post: Post, urls: Collection[str]) -> Iterator[str]:
    """Return what its digest may be there: of the feed's address and the post's id, link or title."""
    names = ["" if post.guid.startswith(SYNTHETIC) else post.guid, post.link, post.title]
    for url in urls:
        for name in filter(None, names):
            yield sha256(f"{url}::{name}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


def old_post(document: Document, owners: Collection[str], *, read: bool, guid: str, now: datetime) -> OldPost:
    return OldPost(post_of(document, guid), came_at(document, now), read or is_read(document, owners))


def came_at(document: Document, now: datetime) -> datetime:
    """Fall back on its date, and on its id, which begins with a time."""
    at = _moment(document.get("createdAt")) or _moment(document.get("published")) or _moment_of_id(document)
    return min(at or now, now)


def date_of(document: Document, now: datetime) -> datetime:
    return min(_moment(document.get("published")) or came_at(document, now), now)


def post_of(document: Document, guid: str) -> Post:
    link = absolute(_text(document, "url").strip(), "")
    content = document.get("content")
    html, text = (
        (_text(content, "html"), _text(content, "text"))
        if isinstance(content, dict)
        else ("", _flat(content))
    )
    author = document.get("author")
    if isinstance(author, list):
        author = author[0] if author else None
    person = _person(author, link)
    pictures = [
        Media(url, kind, alt=shortened(plain_title(alt), 1_000))
        for name, kind in (("photo", "image"), ("video", "video"), ("audio", "audio"))
        for url, alt in _files(document.get(name), link)
    ]
    relations = tuple(
        (ours, url)
        for theirs, ours in RELATIONS.items()
        for url in (absolute(text, link) for text in _texts(document.get(theirs)))
        if url
    )
    summary = _text(document, "summary")[:MAX_CONTENT]
    return Post(
        guid=guid,
        title=shortened(plain_title(_text(document, "name")), MAX_ENTRY_TITLE),
        link=link,
        content=html[:MAX_CONTENT] or paragraphs(text[:MAX_CONTENT]),
        summary=paragraphs(summary),
        published=_moment(document.get("published")),
        updated=_moment(document.get("updated")),
        categories=listed(_texts(document.get("category"))),
        media=distinct(pictures),
        social=Social(people=(person,) if person.name or person.url else (), relations=relations),
    )


def author_url(document: Document) -> str:
    author = document.get("author")
    if isinstance(author, list):
        author = author[0] if author else None
    return _person(author, "").url


def text_of(document: Mapping[str, Any], name: str) -> str:
    return _text(document, name)


def is_owned(document: Document, owners: Collection[str]) -> bool:
    """Without an owner it is everybody's."""
    owner = _text(document, "userId")
    return not owner or owner in owners


def _person(value: Any, base: str) -> Person:
    if isinstance(value, str):
        value = {"url": value} if value.startswith(("http://", "https://")) else {"name": value}
    if not isinstance(value, dict):
        return Person()
    name = plain_title(_text(value, "name"), is_html=True)
    names = author_names([name]) if name else ()
    url = absolute(_text(value, "url"), base)
    return Person(names[0] if names else "", url, absolute(_text(value, "photo"), base))


def _files(value: Any, base: str) -> Iterator[tuple[str, str]]:
    for one in (value if isinstance(value, list) else [value])[:MAX_MEDIA]:
        given = one if isinstance(one, dict) else {"url": one}
        url = absolute(_text(given, "url") or _text(given, "value"), base)
        if url:
            yield url, _text(given, "alt")


def _texts(value: Any, most: int = 50) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [text for text in map(_flat, values[:most]) if text]


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("url") or value.get("value")
    return value[:MAX_CONTENT] if isinstance(value, str) else ""


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _dict(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = values.get(name)
    return value if isinstance(value, dict) else {}


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) < 1e9 else 0


def _key(document: Document) -> str:
    """Return its id in MongoDB."""
    return _text(document, "_id")[:64]


def _moment(value: Any) -> datetime | None:
    return moment_of(value)


def _moment_of_id(document: Document) -> datetime | None:
    key = _key(document)
    return datetime.fromtimestamp(int(key[:8], 16), UTC) if _ID.fullmatch(key) else None


def number_of(document: Mapping[str, Any], name: str) -> float:
    return _number(document.get(name))


def columns_of(document: Document) -> list[Mapping[str, Any]]:
    columns = document.get("columns")
    found: list[Mapping[str, Any]] = columns[:200] if isinstance(columns, list) else []
    return [one for one in found if isinstance(one, dict)]
