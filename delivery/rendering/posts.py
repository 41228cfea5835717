"""A post as letter templates see it: plain data, escaped for nothing yet but its cleaned html."""

import html
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo
from urllib.parse import unquote, urlsplit

from django.template.defaultfilters import filesizeformat
from django.utils.formats import date_format
from django.utils.safestring import SafeString, mark_safe

from common.balancing import balance
from common.beacons import is_beacon
from common.html import plain, to_text
from common.text import one_line, shortened
from delivery.rendering.addresses import web_address
from delivery.rendering.content import for_letter
from delivery.rendering.languages import direction, direction_of, language_tag
from delivery.rendering.shortening import shorten
from feeds.parsing.entry import Entry, Media

__all__ = ["Attachment", "Image", "Post", "post", "web_address"]

LONGEST_TITLE = 300
MOST_MEDIA = 10


@dataclass(frozen=True, slots=True)
class Image:
    url: str
    alt: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A sound, a film or another file: `detail` is its type and size, as far as known."""

    url: str
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Post:
    """One post. `html` is safe, `text` is the same as text; `is_cut` says that there is more at `more`."""

    title: str
    link: str
    authors: str
    date: str
    html: SafeString
    text: str
    excerpt: str
    top_image: Image | None
    images: tuple[Image, ...]
    attachments: tuple[Attachment, ...]
    language: str
    direction: str
    is_cut: bool = False
    more: str = ""

    @property
    def underline(self) -> str:
        """For the title in the text part."""
        return "=" * min(len(self.title), 72)


def post(
    entry: Entry,
    *,
    share: int,
    zone: tzinfo,
    archive_url: str,
    newsletter_language: str,
    most_media: int = MOST_MEDIA,
) -> Post:
    """The post of an entry whose html is clean; beyond `share` characters of html it is cut."""
    whole = for_letter(balance(entry.html), page=entry.base or entry.link)
    content = shorten(whole, share)
    top, others = _images(entry, whole)
    files = _files(entry)
    title = shortened(one_line(entry.title), LONGEST_TITLE)
    excerpt = _excerpt(content)
    language = language_tag(entry.language)
    return Post(
        title=title,
        link=web_address(entry.link),
        authors=shortened(", ".join(one_line(author) for author in entry.authors), LONGEST_TITLE),
        date=date_format(entry.published.astimezone(zone), "DATE_FORMAT") if entry.published else "",
        html=mark_safe(content),  # noqa: S308 (cleaned before it is stored)
        text=to_text(content),
        excerpt=excerpt,
        top_image=top,
        images=others[:most_media],
        attachments=tuple(_attachment(medium) for medium in files[:most_media]),
        language=language,
        direction=direction_of(f"{title} {excerpt}", direction(language or newsletter_language)),
        is_cut=content != whole or max(len(others), len(files)) > most_media,
        more=web_address(entry.link) or archive_url,
    )


def _images(entry: Entry, content: str) -> tuple[Image | None, tuple[Image, ...]]:
    """A single image stands on top, several below; those in the content are there already."""
    media = [medium for medium in entry.media if medium.is_image and _is_picture(medium.url)]
    new = [Image(m.url, one_line(m.alt)) for m in media if not _shows(content, m.url)][:MOST_MEDIA]
    if not media and "<img" not in content and _is_picture(entry.image):
        return Image(entry.image), ()
    return (new[0], ()) if len(media) == 1 and new else (None, tuple(new))


def _is_picture(url: str) -> bool:
    """Whether it shows something of the post: no beacon, and no picture of its author."""
    return bool(web_address(url)) and not is_beacon(url) and "gravatar.com/avatar/" not in url


def _shows(content: str, url: str) -> bool:
    return url in content or html.escape(url) in content


def _files(entry: Entry) -> Sequence[Media]:
    return [medium for medium in entry.media if not medium.is_image and web_address(medium.url)][:MOST_MEDIA]


def _attachment(medium: Media) -> Attachment:
    parts = urlsplit(medium.url)
    name = one_line(unquote(parts.path.rpartition("/")[2])) or parts.netloc
    size = filesizeformat(medium.length) if medium.length else ""
    detail = ", ".join(filter(None, (one_line(medium.type), size)))
    return Attachment(medium.url, shortened(name, 100), shortened(detail, 100))


def _excerpt(content: str) -> str:
    # A space between two elements, so that the end of a paragraph and the beginning of the next stay apart.
    return shortened(plain(content[:5000].replace("><", "> <")), 180)
