"""ActivityStreams documents of a newsletter and its issues.

The addresses are below the newsletter's page, so a letter is enough to write them.
"""

import mimetypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Any
from urllib.parse import urlsplit

from channels.announcement import MOST_HTML, Announcement, announcement_of
from channels.base import CannotPost
from channels.http.links import postable
from channels.letter import Letter
from common.html.clean import clean, plain
from common.text import one_line
from common.truncation import cut_to

Document = Mapping[str, Any]
ACTIVITY_JSON = "application/activity+json"
PUBLIC = "https://www.w3.org/ns/activitystreams#Public"
# ActivityStreams' context lacks these.
CONTEXT = [
    "https://www.w3.org/ns/activitystreams",
    "https://w3id.org/security/v1",
    {
        "toot": "http://joinmastodon.org/ns#",
        "schema": "http://schema.org#",
        "Hashtag": "as:Hashtag",
        "sensitive": "as:sensitive",
        "manuallyApprovesFollowers": "as:manuallyApprovesFollowers",
        "discoverable": "toot:discoverable",
        "indexable": "toot:indexable",
        "PropertyValue": "schema:PropertyValue",
        "value": "schema:value",
    },
]
# Characters. A longer post is an Article, of which Mastodon shows title, summary and link.
LONGEST_NOTE = 500
# Some servers take 50 kB a request.
LONGEST_CONTENT = 40_000
MOST_PICTURES = 4
_PICTURE = re.compile(r"<(p|figure)>\s*<img [^<>]*>\s*</\1>|<img [^<>]*>")
NO_PAGE = "Only issues that have a page can be read from the Fediverse."


@dataclass(frozen=True, slots=True)
class Actor:
    """Addresses of a newsletter, from that of its page (`…/s/bees/`)."""

    page: str

    @classmethod
    def of_object(cls, address: str) -> "Actor":
        return cls(address.partition("archive/")[0])

    @property
    def id(self) -> str:
        return f"{self.page}actor"

    @property
    def key_id(self) -> str:
        return f"{self.id}#main-key"

    @property
    def followers(self) -> str:
        return f"{self.page}followers"


def object_id(web_url: str) -> str:
    return f"{web_url}object"


def activity_of(kind: str, address: str, actor: Actor, thing: Any, **more: Any) -> Document:
    return {"@context": CONTEXT, "id": address, "type": kind, "actor": actor.id, **more, "object": thing}


@dataclass(frozen=True, slots=True)
class IssueObject:
    """A published issue as an object. `fields` don't depend on the time of an edit."""

    actor: Actor
    fields: Document

    @property
    def id(self) -> str:
        return str(self.fields["id"])

    def activity(self, kind: str, name: str, *, updated: datetime | None = None) -> Document:
        """Return a Create or an Update; `name` makes its id unique."""
        fields = {**self.fields, "updated": timestamp(updated)} if updated else self.fields
        at = fields.get("updated", fields["published"])
        more = {"published": at, "to": fields["to"], "cc": fields["cc"]}
        return activity_of(kind, f"{self.id}#{name}", self.actor, fields, **more)


def deletion_of(address: str) -> Document:
    actor = Actor.of_object(address)
    more = {"to": [PUBLIC], "cc": [actor.followers]}
    return activity_of("Delete", f"{address}#delete", actor, tombstone_of(address), **more)


def tombstone_of(address: str) -> Document:
    return {"id": address, "type": "Tombstone"}


def issue_object(letter: Letter) -> IssueObject:
    """Raises CannotPost."""
    if not letter.web_url or not letter.page_url:
        raise CannotPost(NO_PAGE)
    post = announcement_of(letter)
    actor = Actor(letter.page_url)
    content = _content(letter, post)
    text = post.warning or post.summary or one_line("; ".join(line.title for line in post.lines))
    is_note = not post.is_digest and (not post.is_titled or _is_short(post))
    fields: dict[str, Any] = {
        "id": object_id(letter.web_url),
        "type": "Note" if is_note else "Article",
        "attributedTo": actor.id,
        "to": [PUBLIC],
        "cc": [actor.followers],
        "published": timestamp(post.at),
        "url": letter.web_url,
        "content": content,
    }
    if is_note:
        # Of a Note, the summary is the warning that hides it.
        fields |= {"summary": post.warning} if post.warning else {}
    else:
        fields |= {"name": post.title or post.newsletter_title, "summary": escape(text)}
    if post.language:
        fields["contentMap"] = {post.language: content}
    if post.warning or post.sensitive_images:
        fields["sensitive"] = True
    if pictures := (post.images or post.sensitive_images)[:MOST_PICTURES]:
        fields["attachment"] = [_picture(image.url, image.alt) for image in pictures]
    if post.hashtags:
        fields["tag"] = [{"type": "Hashtag", "name": f"#{tag}", "href": actor.page} for tag in post.hashtags]
    return IssueObject(actor, fields)


def _is_short(post: Announcement) -> bool:
    return len(plain(post.posts[0].html[:MOST_HTML])) <= LONGEST_NOTE


def timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _picture(url: str, alt: str) -> Document:
    kind = mimetypes.guess_type(urlsplit(url).path)[0] or ""
    picture = {"type": "Image", "url": url, "name": alt}
    return {**picture, "mediaType": kind} if kind.startswith("image/") else picture


def _content(letter: Letter, post: Announcement) -> str:
    """Return the posts' html, or their summaries where there is no room."""
    if not post.posts:
        return "".join(f"<p>{escape(text)}</p>" for text in letter.text[:LONGEST_CONTENT].split("\n\n"))
    parts = list[str]()
    room = LONGEST_CONTENT
    for entry in post.posts:
        link = postable(entry.link)
        headline = escape(one_line(entry.title))
        if headline and post.is_digest:
            headline = f'<h2><a href="{escape(link)}">{headline}</a></h2>' if link else f"<h2>{headline}</h2>"
        elif headline:
            headline = f"<p><strong>{headline}</strong></p>"
        # Pictures are attached.
        text = _PICTURE.sub("", clean(entry.html[:MOST_HTML], base=entry.base or entry.link))
        if len(text) + len(headline) > room:
            text = f"<p>{escape(cut_to(plain(entry.summary or text), LONGEST_NOTE))}</p>"
        more = f'<p><a href="{escape(link)}">{escape(link)}</a></p>' if link and not post.is_digest else ""
        part = f"{headline}{text}{more}"
        if len(part) > room:
            break
        room -= len(part)
        parts.append(part)
    return "".join(parts)
