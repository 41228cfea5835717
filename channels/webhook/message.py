import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from channels.announcement import MOST_HTML, Announcement, images_of
from channels.http.links import postable
from channels.letter import Recipient
from channels.wording import parts_of
from common.html.clean import clean
from common.html.clean import plain as without_tags
from common.text import shortened
from common.truncation import DoesNotFit, FittingPart, fit_parts, plain_line
from feeds.parsing.entry import Entry

BODY_VERSION = 1
# Octets: a payload "should be small, less than 20kb", unless full posts were requested.
LONGEST_BODY, LONGEST_WITH_CONTENT = 20_000, 1_000_000
# Reserved for type, id and time.
ENVELOPE = 1_000
MOST_WORDS = 2_000
MOST_TITLE, MOST_NAME, MOST_NAMES = 500, 100, 20
# Ever shorter summaries, in characters.
SUMMARIES = (1_000, 300, 100, 0)
TOO_LONG = "The post’s link and names alone are longer than a webhook allows."


@dataclass(frozen=True, slots=True)
class PostsCall:
    """With a `refusal` there is no call."""

    secrets: Mapping[str, str] = field(repr=False)
    data: Mapping[str, Any] = field(repr=False)
    at: datetime
    is_digest: bool
    refusal: str = ""

    @property
    def longest(self) -> int:
        in_full = any("content" in post for post in self.data.get("posts", ()))
        return LONGEST_WITH_CONTENT if in_full else LONGEST_BODY

    def body(self, event: str, subject: str) -> bytes:
        """`event` is published or updated, `subject` the first call's id."""
        kind = f"{'digest' if self.is_digest else 'post'}.{event}"
        data = {"id": subject, **self.data}
        return _json({"type": kind, "timestamp": self.at.isoformat(), "version": BODY_VERSION, "data": data})


def posts_call_of(said: Announcement, options: Mapping[str, str], recipient: Recipient) -> PostsCall:
    common = {
        "newsletter": {"name": said.newsletter, "title": said.newsletter_title},
        "issue": {"url": said.page_url, "title": said.title, "published_at": said.at.isoformat()},
        "text": _text(said, options),
        "total": len(said.posts),
    }
    sizes = ({**common, "posts": posts} for posts in _sizes(said.posts))
    data = next((one for one in sizes if len(_json(one)) <= LONGEST_BODY - ENVELOPE), {})
    if options.get("content") == "html":
        contents = [{"content": clean(post.html, base=post.base or post.link)} for post in said.posts]
        whole = {
            **common,
            "posts": [_post(post) | more for post, more in zip(said.posts, contents, strict=True)],
        }
        data = whole if len(_json(whole)) <= LONGEST_WITH_CONTENT else data
    # Its posts are included.
    refusal = "" if said.is_digest else said.refusal
    return PostsCall(recipient.secrets, data, said.at, said.is_digest, refusal or ("" if data else TOO_LONG))


def _sizes(entries: tuple[Entry, ...]) -> Iterator[list[dict[str, Any]]]:
    """Yield ever shorter posts, then without pictures, then fewer."""
    posts = [_post(entry) for entry in entries]
    yield posts
    for limit in SUMMARIES:
        posts = [{**post, "summary": shortened(post["summary"], limit) if limit else ""} for post in posts]
        yield posts
    while posts:
        posts = [{**post, "images": []} for post in posts]
        yield posts
        posts = posts[: len(posts) // 2]


def _post(entry: Entry) -> dict[str, Any]:
    words = entry.warning or without_tags((entry.summary or entry.content)[:MOST_HTML])
    return {
        "title": _line(entry.title, MOST_TITLE),
        "link": postable(entry.link),
        "authors": [_line(name, MOST_NAME) for name in entry.authors[:MOST_NAMES]],
        "summary": _line(words, MOST_WORDS),
        "images": [{"url": image.url, "alt": _line(image.alt, MOST_TITLE)} for image in images_of(entry)],
        "categories": [_line(name, MOST_NAME) for name in entry.categories[:MOST_NAMES]],
        "published": entry.published.isoformat() if entry.published else None,
        "updated": entry.updated.isoformat() if entry.updated else None,
        "language": _line(entry.language, MOST_NAME),
        **({"sensitive": True} if entry.sensitive else {}),
    }


def _text(said: Announcement, options: Mapping[str, str]) -> str:
    try:
        parts = parts_of(said, options.get("template", ""))
        return fit_parts(parts, lambda text: len(text) <= MOST_WORDS)
    except DoesNotFit:
        return fit_parts([FittingPart(said.title, cuttable=True)], lambda text: len(text) <= MOST_WORDS)


def _line(text: str, limit: int) -> str:
    return shortened(plain_line(text[: 10 * limit]), limit)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
