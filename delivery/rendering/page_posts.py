"""A post as pages show it. (A letter's costs more to make: it is cut to size and made text as well.)"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import unquote, urlsplit

from django.utils.safestring import SafeString, mark_safe

from delivery.rendering.addresses import web_address
from feeds.parsing.entry import Entry, Media

MOST_MEDIA = 10


@dataclass(frozen=True, slots=True)
class File:
    """A picture, with words for who cannot see it, or something to listen to or download."""

    url: str
    words: str


@dataclass(frozen=True, slots=True)
class Post:
    """All addresses are of the web; `link` may be empty. `html` is safe."""

    title: str
    link: str
    byline: str
    published: datetime | None
    html: SafeString
    images: tuple[File, ...]
    files: tuple[File, ...]


def post(entry: dict[str, Any]) -> Post:
    """The post of an IssueItem's frozen entry."""
    return post_of(Entry.from_json(entry))


def post_of(stood: Entry) -> Post:
    """The post of an entry whose html is clean."""
    media = [medium for medium in stood.media if web_address(medium.url)]
    return Post(
        title=stood.title or stood.link or "Untitled",
        link=web_address(stood.link),
        byline=", ".join(stood.authors),
        published=stood.published,
        # Sanitised before it was stored (common.html.clean), once for letters and pages alike.
        html=mark_safe(stood.html),  # noqa: S308
        images=tuple(_images(stood, media)[:MOST_MEDIA]),
        files=tuple(File(one.url, _name(one)) for one in media if not one.is_image)[:MOST_MEDIA],
    )


def _images(entry: Entry, media: list[Media]) -> list[File]:
    """Those that the text does not show already."""
    pictures = [File(one.url, one.alt) for one in media if one.is_image]
    if not pictures and web_address(entry.image) and "<img" not in entry.html:
        pictures = [File(entry.image, "")]
    return [one for one in pictures if one.url not in entry.html]


def _name(medium: Media) -> str:
    parts = urlsplit(medium.url)
    return unquote(parts.path.rpartition("/")[2])[:100] or parts.netloc
