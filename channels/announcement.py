"""Announcement of a letter for bridges: plain texts without markup. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from urllib.parse import urljoin

from channels.http.links import postable
from channels.letter import Letter
from common.html.balance import attributes
from common.html.clean import clean, plain
from common.text import one_line
from common.truncation import cut_to, plain_line
from feeds.parsing.entry import Entry
from feeds.parsing.pictures import file_key
from feeds.rules.boilerplate import summary_of, without_boilerplate

# A hostile name must leave room for the title.
NAME_LIMIT = 80
SUMMARY_LIMIT = 2_000
TITLE_LIMIT = 2_000
# Services count it as part of the text.
WARNING_LIMIT = 200
HASHTAG_LIMIT = 64
MOST_HASHTAGS = 8
MOST_IMAGES = 10
MOST_LINES = 50
MOST_HTML = 200_000
NOTHING_TO_SAY = "The post has neither a link nor text, so there is nothing to post."
EPOCH = datetime(2000, 1, 1, tzinfo=UTC)

_IMG = re.compile(r"<img( [^<>]*)>")
_WORD = re.compile(r"\w+")
_SHARP = re.compile(r"(?<=\w)#(?!\w)")
_LONGEST_BEGINNING = 70


@dataclass(frozen=True, slots=True)
class Line:
    title: str
    link: str


@dataclass(frozen=True, slots=True)
class PostImage:
    """Picture on the web, with a description."""

    url: str
    alt: str = ""


@dataclass(frozen=True, slots=True)
class Announcement:
    """Texts on one line without control characters. Not yet escaped.

    `title` is the post's or digest's, else the first words. `own_words` come from the newsletter's own code
    and may have line breaks. With a `refusal` there is nothing to post.
    """

    newsletter: str
    newsletter_title: str
    title: str
    # The post's, else the public page.
    link: str
    at: datetime
    is_titled: bool = True
    authors: str = ""
    summary: str = ""
    # Without text that all posts of the feed share.
    own_summary: str = ""
    # From the feed.
    dated: datetime | None = None
    categories: tuple[str, ...] = ()
    hashtags: tuple[str, ...] = ()
    images: tuple[PostImage, ...] = ()
    # For services that can hide them.
    sensitive_images: tuple[PostImage, ...] = ()
    # Replaces all other text of a sensitive post.
    warning: str = ""
    languages: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    is_digest: bool = False
    own_words: str = ""
    page_url: str = ""
    # For channels that use html.
    posts: tuple[Entry, ...] = field(default=(), repr=False)

    @property
    def tags_to_add(self) -> list[str]:
        """Return hashtags with #, without those in the title."""
        shown = {tag.casefold() for tag in re.findall(r"#(\w+)", self.title)}
        return [f"#{tag}" for tag in self.hashtags if tag.casefold() not in shown]

    @property
    def refusal(self) -> str:
        return "" if self.link or self.title or self.summary or self.own_words else NOTHING_TO_SAY

    @property
    def language(self) -> str:
        """Return two or three letters, or "": feeds use en-US."""
        codes = (re.split("[-_]", tag)[0].lower() for tag in self.languages)
        return next((code for code in codes if re.fullmatch("[a-z]{2,3}", code)), "")


def announcement_of(letter: Letter) -> Announcement:
    """`options` may set the language."""
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
    own_summary = without_boilerplate(summary_of(entry), entry.boilerplate)
    summary = plain((entry.summary or entry.content)[:MOST_HTML])
    pictures = images_of(entry)
    return replace(
        common,
        title=_title(entry),
        is_titled=bool(plain_line(entry.title)),
        link=postable(entry.link) or postable(letter.web_url),
        authors=_name(", ".join(entry.authors)),
        summary=_bounded(entry.warning or summary, SUMMARY_LIMIT),
        own_summary=_bounded(entry.warning or own_summary, SUMMARY_LIMIT),
        # Older dates are from clocks that were never set.
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
    """Return unique hashtags without #: “urban planning” becomes UrbanPlanning, and C++ CPlusPlus."""
    found: dict[str, str] = {}
    for category in entry.categories:
        line = plain_line(category).replace("’", "").replace("'", "").replace("+", " Plus ")
        words = _WORD.findall(_SHARP.sub(" Sharp ", line))
        tag = words[0] if len(words) == 1 else "".join(word[0].upper() + word[1:] for word in words)
        # Services accept no numbers.
        if tag and len(tag) <= HASHTAG_LIMIT and not tag.replace("_", "").isdecimal():
            found.setdefault(tag.casefold(), tag)
    return tuple(found.values())[:MOST_HASHTAGS]


def images_of(entry: Entry) -> tuple[PostImage, ...]:
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
    # Cleaned, because tracking pixels and emoji are not content.
    for match in _IMG.finditer(clean(entry.html[:MOST_HTML], base=base)):
        values = attributes(match[1])
        yield values.get("src", ""), values.get("alt", "")


def _title(entry: Entry) -> str:
    return _bounded(entry.title, TITLE_LIMIT) or beginning(entry)


def _bounded(text: str, limit: int) -> str:
    return cut_to(plain_line(text), limit)


def _name(text: str) -> str:
    return _bounded(text, NAME_LIMIT)


def beginning(entry: Entry) -> str:
    """Return the content warning or first words."""
    return cut_to(one_line(entry.warning or plain(entry.html[:5_000])), _LONGEST_BEGINNING)
