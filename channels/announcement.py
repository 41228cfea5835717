"""A letter as every bridge announces it: plain texts, without any service's markup. Pure.

A channel adds its markup, its measure and its service's fields.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from urllib.parse import urljoin

from channels.http.links import postable
from channels.letter import Letter
from common.html.clean import clean, plain
from common.html.clean import plain as without_tags
from common.html.tags import attributes
from common.text import one_line
from common.truncation import cut_to, plain_line
from feeds.parsing.entry import Entry
from feeds.parsing.pictures import file_key
from feeds.rules.boilerplate import Boilerplate, summary_of, without_boilerplate

# Names are whole in nearly every post; a hostile one must not leave the title without room.
NAME_LIMIT = 80
SUMMARY_LIMIT = 2_000
TITLE_LIMIT = 2_000
# Services count it as part of the text.
WARNING_LIMIT = 200
HASHTAG_LIMIT = 64
MOST_HASHTAGS = 8
MOST_IMAGES = 10
MOST_LINES = 50
# Of a post's html so much is looked through for its words and its pictures.
MOST_HTML = 200_000
NOTHING_TO_SAY = "The post has neither a link nor words, so there is nothing to post."
# Where a letter has no time of its own.
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

_IMG = re.compile(r"<img( [^<>]*)>")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Line:
    """One post of a digest."""

    title: str
    link: str


@dataclass(frozen=True, slots=True)
class PostImage:
    """A picture of the post, where it stands on the web, and what it shows in words."""

    url: str
    alt: str = ""


@dataclass(frozen=True, slots=True)
class Announcement:
    """All texts are on one line, without control characters, and may hold any markup: escape them.

    `title` is the post's, or the digest's; for a post without one its first words. `own_words` is what the
    newsletter's own code wants said, lines included. With a `refusal` there is nothing to post.
    """

    newsletter: str
    newsletter_title: str
    title: str
    # The post's own, else the page, if it has one that anybody may read.
    link: str
    at: datetime
    # Whether the post has a title of its own.
    is_titled: bool = True
    authors: str = ""
    summary: str = ""
    # The summary without what all posts of its feed say.
    own_summary: str = ""
    # When the post came out, where its feed says so.
    dated: datetime | None = None
    categories: tuple[str, ...] = ()
    hashtags: tuple[str, ...] = ()
    images: tuple[PostImage, ...] = ()
    # Pictures of a sensitive post, for services that can hide them until somebody looks.
    sensitive_images: tuple[PostImage, ...] = ()
    # The content warning of a sensitive post; no other text of it is shown.
    warning: str = ""
    languages: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    is_digest: bool = False
    own_words: str = ""
    page_url: str = ""
    # The posts as they stand in the letter, html included, for a channel that hands on more than words.
    posts: tuple[Entry, ...] = field(default=(), repr=False)

    @property
    def refusal(self) -> str:
        return "" if self.link or self.title or self.summary or self.own_words else NOTHING_TO_SAY

    @property
    def language(self) -> str:
        """The first usable one's primary subtag, in two or three letters: feeds say en-US; "" for none."""
        codes = (re.split("[-_]", tag)[0].lower() for tag in self.languages)
        return next((code for code in codes if re.fullmatch("[a-z]{2,3}", code)), "")


def announcement_of(letter: Letter) -> Announcement:
    """Of a letter with one post, or of a digest. `options` of the letter may name a language."""
    entry = None if letter.is_digest or not letter.entries else letter.entries[0]
    tags = (letter.options.get("language", ""), entry.language if entry else "", letter.language)
    common = Announcement(
        newsletter=_name(letter.newsletter),
        newsletter_title=_name(letter.newsletter_title or letter.newsletter),
        title=_bounded(letter.title, TITLE_LIMIT),
        link=postable(letter.web_url or letter.archive_url),
        at=letter.at or EPOCH,
        languages=tuple(tag.strip() for tag in tags if tag.strip()),
        is_digest=True,
        page_url=postable(letter.web_url or letter.archive_url or letter.page_url),
        posts=letter.entries[:MOST_LINES],
    )
    if entry is None:
        lines = tuple(
            Line(_title(post) or "Untitled", postable(post.link)) for post in letter.entries[:MOST_LINES]
        )
        images = tuple(image for post in letter.entries if not post.sensitive for image in images_of(post))
        return replace(common, lines=lines, images=images[:MOST_IMAGES], hashtags=())
    # An issue without html has its text from the newsletter's own code (delivery.issues.contents).
    is_own = letter.kind == "issue" and not letter.html
    own_summary = without_boilerplate(summary_of(entry), Boilerplate(*entry.boilerplate))
    summary = without_tags((entry.summary or entry.content)[:MOST_HTML])
    pictures = images_of(entry)
    return replace(
        common,
        title=_title(entry),
        is_titled=bool(plain_line(entry.title)),
        link=postable(entry.link) or postable(letter.web_url),
        authors=_name(", ".join(entry.authors)),
        summary=_bounded(entry.warning or summary, SUMMARY_LIMIT),
        own_summary=_bounded(entry.warning or own_summary, SUMMARY_LIMIT),
        # An older date is from a clock that was never set.
        dated=entry.published if entry.published and entry.published > EPOCH else None,
        categories=tuple(plain_line(category) for category in entry.categories),
        hashtags=hashtags_of(entry),
        images=() if entry.sensitive else pictures,
        sensitive_images=pictures if entry.sensitive else (),
        warning=_bounded(entry.warning, WARNING_LIMIT),
        is_digest=False,
        own_words=letter.text if is_own else "",
    )


def hashtags_of(entry: Entry) -> tuple[str, ...]:
    """The categories as hashtags, without their #: “urban planning” as UrbanPlanning. Each once."""
    found: dict[str, str] = {}
    for category in entry.categories:
        words = _WORD.findall(plain_line(category).replace("’", "").replace("'", ""))
        tag = words[0] if len(words) == 1 else "".join(word[0].upper() + word[1:] for word in words)
        # Services take none that is a number.
        if tag and len(tag) <= HASHTAG_LIMIT and not tag.replace("_", "").isdecimal():
            found.setdefault(tag.casefold(), tag)
    return tuple(found.values())[:MOST_HASHTAGS]


def images_of(entry: Entry) -> tuple[PostImage, ...]:
    """The post's pictures with their words, each once: its own, its media, those in its text."""
    found: dict[str, PostImage] = {}
    base = entry.base or entry.link
    for url, alt in _images(entry, base):
        place = postable(urljoin(base, url))
        known = found.get(key := file_key(place))
        if place and not (known and known.alt):
            found[key] = PostImage(known.url if known else place, plain_line(alt))
    return tuple(found.values())[:MOST_IMAGES]


def _images(entry: Entry, base: str) -> Iterator[tuple[str, str]]:
    media = [medium for medium in entry.media if medium.is_image]
    # A thumbnail is a small copy of these.
    if entry.image and not media:
        yield entry.image, ""
    for medium in media:
        yield medium.url, medium.alt
    # Cleaned, because beacons and emoji that are pictures are none of the post.
    for match in _IMG.finditer(clean(entry.html[:MOST_HTML], base=base)):
        values = attributes(match[1])
        yield values.get("src", ""), values.get("alt", "")


def _title(entry: Entry) -> str:
    return _bounded(entry.title, TITLE_LIMIT) or beginning(entry)


def _bounded(text: str, limit: int) -> str:
    return cut_to(plain_line(text), limit)


def _name(text: str) -> str:
    return _bounded(text, NAME_LIMIT)


_LONGEST_BEGINNING = 70


def beginning(entry: Entry) -> str:
    """Its content warning, or the first words of its text, to stand for a title."""
    return cut_to(one_line(entry.warning or plain(entry.html[:5_000])), _LONGEST_BEGINNING)
