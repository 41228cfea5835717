"""Starred and read posts that other programs export as JSON.

Google Reader's form, with the feed's id of each post (FreshRSS) or without (Inoreader, The Old Reader), and
Feedbin's, by links alone.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from common.formats.written_dates import parsed_moment
from common.refused import Refused
from common.text import one_line, shortened, without_controls
from feeds.parsing.entry import Entry as Post
from feeds.parsing.fields import MAX_CONTENT, MAX_ENTRY_TITLE, MAX_GUID
from feeds.parsing.media import absolute
from feeds.parsing.people import author_names

MAX_POSTS = 10_000
MOST_OBJECTS, MOST_VALUES = 500_000, 2_000_000
NOT_JSON = "The file is damaged, or isn’t JSON in UTF-8. Export it again."
NO_POSTS = "There are no posts in this file."
TOO_MANY_POSTS = f"The file has more than {MAX_POSTS:,} posts. Divide it into smaller ones."
_STATE, _FEED = "/state/com.google/", "feed/"


class SavedPostsError(Refused):
    pass


class EmptyPosts(SavedPostsError):
    pass


@dataclass(frozen=True, slots=True)
class SavedPost:
    """Can be stored as JSON: times are ISO 8601 or "". `guid` is the feed's own, or ""."""

    feed_url: str
    guid: str
    link: str
    title: str
    html: str
    author: str
    published: str
    came_at: str
    is_read: bool
    is_starred: bool

    @property
    def post(self) -> Post:
        """Not sanitized."""
        return Post(
            guid=self.guid,
            title=self.title,
            link=self.link,
            authors=author_names([self.author]) if self.author else (),
            content=self.html,
            published=parsed_moment(self.published),
        )


def is_json(body: bytes) -> bool:
    return body[:1_000].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")


def parse_saved(body: bytes) -> list[SavedPost]:
    """Raises SavedPostsError, and EmptyPosts if there are none."""
    # Small values of a hostile file take much memory.
    if body.count(b"[") + body.count(b"{") > MOST_OBJECTS or body.count(b",") > MOST_VALUES:
        raise SavedPostsError(TOO_MANY_POSTS)
    try:
        document = json.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SavedPostsError(NOT_JSON) from error
    items = document.get("items") if isinstance(document, dict) else document
    if not isinstance(items, list) or not items:
        raise EmptyPosts(NO_POSTS)
    if len(items) > MAX_POSTS:
        raise SavedPostsError(TOO_MANY_POSTS)
    is_google = isinstance(document, dict)
    is_starred = is_google and _text(document, "id").endswith("/starred")
    return [
        _of_google(one, is_starred) if is_google else _of_feedbin(one)
        for one in items
        if isinstance(one, dict)
    ]


def _of_google(item: Mapping[str, Any], is_starred: bool) -> SavedPost:
    origin, content = _dict(item, "origin"), _dict(item, "content") or _dict(item, "summary")
    stream = _text(origin, "streamId")
    categories = item.get("categories")
    names = categories[:200] if isinstance(categories, list) else ()
    states = {name.rpartition("/")[2] for name in names if isinstance(name, str) and _STATE in name}
    came_at = _seconds(item.get("crawlTimeMsec"), 1_000) or _seconds(item.get("timestampUsec"), 1_000_000)
    return _saved(
        feed_url=_text(origin, "feedUrl") or (stream[len(_FEED) :] if stream.startswith(_FEED) else ""),
        guid=_text(item, "guid"),
        link=_href(item, "canonical") or _href(item, "alternate"),
        title=_text(item, "title"),
        html=_text(content, "content"),
        author=_text(item, "author"),
        published=_seconds(item.get("published"), 1),
        came_at=came_at,
        is_read="unread" not in states,
        is_starred=is_starred or "starred" in states,
    )


def _of_feedbin(item: Mapping[str, Any]) -> SavedPost:
    return _saved(
        feed_url="",
        guid="",
        link=_text(item, "url"),
        title=_text(item, "title"),
        html=_text(item, "content"),
        author=_text(item, "author"),
        published=_text(item, "published"),
        came_at=_text(item, "created_at"),
        is_read=True,
        is_starred=True,
    )


def _saved(*, is_read: bool, is_starred: bool, **texts: str) -> SavedPost:
    given = {name: without_controls(text).strip() for name, text in texts.items()}
    return SavedPost(
        feed_url=absolute(given["feed_url"], ""),
        guid=given["guid"][:MAX_GUID],
        link=absolute(given["link"], ""),
        title=shortened(one_line(given["title"]), MAX_ENTRY_TITLE),
        html=given["html"][:MAX_CONTENT],
        author=shortened(one_line(given["author"]), 200),
        published=given["published"][:50],
        came_at=given["came_at"][:50],
        is_read=is_read,
        is_starred=is_starred,
    )


def _href(item: Mapping[str, Any], name: str) -> str:
    links = item.get(name)
    first = links[0] if isinstance(links, list) and links else {}
    return _text(first, "href") if isinstance(first, dict) else ""


def _seconds(value: Any, fraction: int) -> str:
    try:
        return datetime.fromtimestamp(int(str(value)[:20]) / fraction, UTC).isoformat() if value else ""
    except (ValueError, OverflowError, OSError):
        return ""


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _dict(values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = values.get(name)
    return value if isinstance(value, dict) else {}
