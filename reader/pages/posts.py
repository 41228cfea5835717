"""Posts as pages show them."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy

from common.html.tags import attributes, scheme
from common.text import one_line, shortened
from reader.media.posts import IMG, html_by_proxy, picture_by_proxy, pictures_by_proxy
from reader.models import Entry, Follow, Place, Reader
from reader.timelines.stars import starred_among

# A longer post is shown with its beginning, and leads to a page of its own.
LONGEST_WHOLE = 900
LONGEST_BEGINNING = 400
LONGEST_EXCERPT = 200
MOST_PICTURES = 20
_HEADING = re.compile(r"<(/?)h[1-6](?=[ >])")
RELATIONS = {
    "in-reply-to": gettext_lazy("In reply to"),
    "repost-of": gettext_lazy("Reposts"),
    "like-of": gettext_lazy("Likes"),
    "bookmark-of": gettext_lazy("Bookmarks"),
    "quotation-of": gettext_lazy("Quotes"),
}


@dataclass(frozen=True, slots=True)
class Reference:
    """A post elsewhere, and what this one does with it."""

    words: str
    url: str
    name: str


@dataclass(frozen=True, slots=True)
class ShownPost:
    """`place` and `channel` are 0 and "" where it is not shown in a timeline."""

    entry: int
    place: int
    channel: str
    channel_name: str
    title: str
    url: str
    author: str
    author_url: str
    # Of ours.
    author_photo: str
    feed: int
    feed_name: str
    at: datetime
    html: SafeString
    beginning: str
    # What cards show of it, shorter still.
    excerpt: str
    # Addresses of ours: what stands beside the text, and what stands beside its beginning.
    pictures: tuple[str, ...]
    first_picture: str
    references: tuple[Reference, ...]
    files: tuple[str, ...]
    categories: tuple[str, ...]
    is_unread: bool
    is_starred: bool

    @property
    def is_long(self) -> bool:
        """Whether timelines show its beginning only."""
        return bool(self.beginning)

    @property
    def name(self) -> str:
        """What to call it: its title, or its first words."""
        return self.title or self.beginning or self.author or self.feed_name or self.url


def shown_places(reader: Reader, places: Iterable[Place], unread: Collection[int]) -> list[ShownPost]:
    """The posts of a page of a timeline."""
    rows = list(places)
    starred = starred_among(reader, [row.entry_id for row in rows])
    names = Follow.objects.of(reader).names()
    return [
        shown_post(
            row.entry,
            place=row,
            feed_name=names.get((row.channel_id, row.feed_id or 0), ""),
            is_unread=row.pk in unread,
            is_starred=row.entry_id in starred,
        )
        for row in rows
    ]


def shown_post(
    entry: Entry,
    *,
    place: Place | None = None,
    feed_name: str = "",
    is_unread: bool = False,
    is_starred: bool = False,
) -> ShownPost:
    """`feed_name` is what its reader calls the feed, where that is not its own title."""
    jf2: Mapping[str, Any] = entry.jf2 or {}
    content, author = jf2.get("content") or {}, jf2.get("author") or {}
    text = str(content.get("text", ""))
    feed = place.feed if place else entry.feed
    summary = str(jf2.get("summary", "")) or text
    html = str(content.get("html", "")) or escape(text or summary)
    pictures = _pictures(jf2, html)
    in_text = IMG.search(html)
    first = picture_by_proxy(attributes(in_text[1]).get("src")) if in_text else ""
    return ShownPost(
        entry=entry.pk,
        place=place.pk if place else 0,
        channel=place.channel.uid if place else "",
        channel_name=place.channel.name if place else "",
        title=str(jf2.get("name", "")),
        url=web_address(jf2.get("url")),
        author=str(author.get("name", "")),
        author_url=web_address(author.get("url")),
        author_photo=picture_by_proxy(author.get("photo")),
        feed=feed.pk if feed else 0,
        feed_name=feed_name or ((feed.title or feed.host) if feed else ""),
        at=_moment(jf2.get("published")) or entry.seen_at,
        html=shown_html(html),
        beginning=shortened(summary, LONGEST_BEGINNING) if len(text) > LONGEST_WHOLE else "",
        excerpt=shortened(one_line(summary), LONGEST_EXCERPT),
        pictures=pictures,
        first_picture=pictures[0] if pictures else first,
        references=tuple(_references(jf2)),
        files=tuple(filter(None, map(web_address, [*jf2.get("audio", ()), *jf2.get("video", ())]))),
        categories=tuple(map(str, jf2.get("category", ())))[:10],
        is_unread=is_unread,
        is_starred=is_starred,
    )


def shown_html(html: str) -> SafeString:
    """Html that was cleaned when it came. Its headings stand below the title of the post."""
    html = html_by_proxy(_HEADING.sub(r"<\1h3", html), loading="lazy", decoding="async")
    return mark_safe(html)  # noqa: S308 - cleaned by common.html


def web_address(url: object) -> str:
    """The address if it is one that a page may link to, else ""."""
    return str(url) if url and scheme(str(url)) in ("http", "https") else ""


def _pictures(jf2: Mapping[str, Any], html: str) -> tuple[str, ...]:
    """Our addresses of the pictures that a post has beside its text."""
    urls = map(str, [*jf2.get("photo", ()), *jf2.get("featured", ())])
    return tuple(pictures_by_proxy(url for url in dict.fromkeys(urls) if escape(url) not in html))[
        :MOST_PICTURES
    ]


def _references(jf2: Mapping[str, Any]) -> Iterable[Reference]:
    refs = jf2.get("refs") or {}
    for relation, words in RELATIONS.items():
        for url in jf2.get(relation, ()):
            if address := web_address(url):
                name = (refs.get(url) or {}).get("name") or address.partition("://")[2]
                yield Reference(str(words), address, shortened(str(name), 120))


def _moment(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else None
