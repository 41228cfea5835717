"""Arguments of hooks (docs/hooks.md)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from common.html.clean import clean
from common.text import one_line, without_controls
from feeds.parsing.entry import Entry
from feeds.parsing.entry import Media as Media

LONGEST_HOOK_TITLE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    newsletter: str
    title: str
    channel: str
    arrangement: str
    zone: ZoneInfo
    language: str = ""
    feed_urls: tuple[str, ...] = ()
    params: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    address: str
    name: str = ""
    unsubscribe_url: str = ""
    manage_url: str = ""


@dataclass(frozen=True, slots=True)
class Post(Entry):
    """`Entry` with methods that change it. Texts from hooks are sanitized."""

    key: int = 0
    feed_url: str = ""

    def with_title(self, title: str) -> "Post":
        return replace(self, title=title)

    def with_html(self, html: str) -> "Post":
        return replace(self, content=html)

    def with_link(self, link: str) -> "Post":
        return replace(self, link=link)

    def with_authors(self, authors: Iterable[str]) -> "Post":
        return replace(self, authors=tuple(authors))

    def with_published(self, published: datetime | None) -> "Post":
        return replace(self, published=published)

    def with_categories(self, categories: Iterable[str]) -> "Post":
        return replace(self, categories=tuple(categories))

    def with_media(self, media: Iterable[Media]) -> "Post":
        return replace(self, media=tuple(media))


def post_of(entry: Entry, *, key: int = 0, feed_url: str = "") -> Post:
    return Post(**_values(entry), key=key, feed_url=feed_url)


def entry_of(post: Post, *, was: Entry) -> Entry:
    """Sanitize a hook's changes. Raises ValueError or TypeError for invalid values."""
    entry = Entry(**_values(post))
    if entry == was:
        return was
    _refuse_other_types(entry)
    base = entry.base or entry.link
    texts: dict[str, str] = {name: getattr(entry, name) for name in ("content", "summary")}
    changed: dict[str, Any] = {
        name: clean(text, base=base) for name, text in texts.items() if text != getattr(was, name)
    }
    lines: dict[str, Any] = {name: one_line(getattr(entry, name)) for name in ("link", "language", "image")}
    return replace(
        entry,
        **changed,
        **lines,
        # Hooks cannot change the identity.
        guid=was.guid,
        title=one_line(entry.title)[:LONGEST_HOOK_TITLE],
        authors=tuple(one_line(author) for author in entry.authors),
        categories=tuple(without_controls(category) for category in entry.categories),
    )


def _values(entry: Entry) -> dict[str, Any]:
    return {each.name: getattr(entry, each.name) for each in fields(Entry)}


def _refuse_other_types(entry: Entry) -> None:
    for each in ("title", "link", "content", "summary", "language", "image", "announce", "base", "warning"):
        _expect(entry, each, isinstance(getattr(entry, each), str), "a text")
    _expect(entry, "image_width", isinstance(entry.image_width, int), "a number")
    _expect(entry, "sensitive", isinstance(entry.sensitive, bool), "true or false")
    for each in ("authors", "categories"):
        value = getattr(entry, each)
        _expect(entry, each, isinstance(value, tuple) and all(isinstance(one, str) for one in value), "texts")
    for each in ("published", "updated"):
        value = getattr(entry, each)
        aware = isinstance(value, datetime) and value.tzinfo is not None
        _expect(entry, each, value is None or aware, "a time with its zone")
    media = entry.media
    _expect(
        entry, "media", isinstance(media, tuple) and all(isinstance(one, Media) for one in media), "media"
    )


def _expect(entry: Entry, name: str, is_so: bool, what: str) -> None:
    if not is_so:
        raise TypeError(f"{name} is not {what}, but {getattr(entry, name)!r:.100}")
