"""Posts on web pages.

Cheaper than posts of a letter, which are also shortened and made into text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

from django.utils import timezone, translation
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from channels.announcement import beginning
from channels.languages import DEFAULT_LANGUAGE, spoken
from channels.placeholders import Placeholders
from common.directions import direction, language_tag, text_direction, title_direction
from common.html.clean import plain
from common.html.json_ld import json_ld
from common.text import one_line, shortened
from delivery.rendering import engine
from delivery.rendering.branding import look, shifted
from delivery.rendering.facts import USUAL_THEME, TemplateSource, ThemeFacts, web_address
from delivery.rendering.posts import first_picture
from delivery.rendering.shortening import shorten
from feeds.parsing.entry import Entry
from feeds.parsing.pictures import files_of, pictures_beside
from subscriptions.rules.site import USUAL_SITE, SiteFacts
from subscriptions.rules.structured import article, periodical

_IMAGE = re.compile(r"<img\b(?![^<>]*\salt=)", re.IGNORECASE)
_TABLE = re.compile(r"(<table\b|</table>)")
# Wide tables scroll by touch, or by keys, which need a tab stop.
_AROUND = {"<table": '<div class="wide" tabindex="0"><table', "</table>": "</table></div>"}
MOST_PAGE_MEDIA = 10
# A post's own headings are below it.
TITLE_LEVEL = 2
# Characters of html in a teaser.
PART_LENGTH = 3_000
LONGEST_PAGE_DESCRIPTION = 200
TITLES_DESCRIBED = 20
ISSUE_PAGE = "pages/issue"
# Place of the form. Posts are cleaned, so they contain no comments.
FORM = "<!-- the form to subscribe -->"


def for_page(html: str, *, level: int) -> str:
    """Shift headings to `level` and below, add empty `alt` texts, make tables scrollable."""
    html = shifted(html, level)
    if "<img" in html:
        html = _IMAGE.sub('<img alt=""', html)
    if "<table" in html:
        html = _TABLE.sub(lambda match: _AROUND[match[1]], html)
    return html


@dataclass(frozen=True, slots=True)
class File:
    url: str
    words: str


@dataclass(frozen=True, slots=True)
class PagePost:
    """Addresses are http(s); `link` may be empty; `html` is safe. `is_cut`: there is more."""

    title: str
    link: str
    byline: str
    published: datetime | None
    html: SafeString
    images: tuple[File, ...]
    files: tuple[File, ...]
    language: str = ""
    direction: str = "ltr"
    title_direction: str = "ltr"
    is_cut: bool = False

    @property
    def moment(self) -> str:
        return self.published.isoformat(timespec="seconds") if self.published else ""


@dataclass(frozen=True, slots=True)
class Shown:
    """Posts of an issue. `summary` and `picture` are for link previews; notes are safe html."""

    posts: tuple[PagePost, ...]
    summary: str = ""
    picture: str = ""
    note_top: str = ""
    note_foot: str = ""


def shown_posts(entries: Sequence[Entry], *, newsletter_language: str = "") -> Shown:
    return Shown(
        posts=tuple(post_of(entry, newsletter_language=newsletter_language) for entry in entries),
        summary=summary_of(entries),
        picture=first_picture(entries),
    )


def note_on_page(html: str) -> SafeString:
    return mark_safe(for_page(html, level=TITLE_LEVEL))  # noqa: S308


def summary_of(entries: Sequence[Entry]) -> str:
    """Return the beginning of a single post, or the titles of several."""
    if len(entries) == 1:
        return description_of(entries[0])
    titles = (entry.title for entry in entries[:TITLES_DESCRIBED] if entry.title)
    return shortened(one_line(" · ".join(titles)), LONGEST_PAGE_DESCRIPTION)


def post_of(stood: Entry, *, newsletter_language: str = "") -> PagePost:
    return _post(stood, stood.html, TITLE_LEVEL, newsletter_language)


def part_of(stood: Entry, *, newsletter_language: str = "") -> PagePost:
    """Return a teaser, one heading level below the issue's title."""
    return _post(stood, shorten(stood.html, PART_LENGTH), TITLE_LEVEL + 1, newsletter_language)


def description_of(stood: Entry) -> str:
    return shortened(stood.warning or plain(stood.html[:5_000]), LONGEST_PAGE_DESCRIPTION)


def _post(stood: Entry, html: str, level: int, newsletter_language: str) -> PagePost:
    files = []
    for medium in files_of(stood):
        if web_address(medium.url):
            parts = urlsplit(medium.url)
            files.append(File(medium.url, unquote(parts.path.rpartition("/")[2])[:100] or parts.netloc))
    title = stood.title or beginning(stood) or stood.link or gettext("Untitled")
    language = language_tag(stood.language)
    runs = text_direction(plain(stood.html[:5_000]) or title, language or newsletter_language)
    return PagePost(
        title=title,
        link=web_address(stood.link),
        byline=", ".join(stood.authors),
        published=stood.published,
        # Sanitised by common.html.clean.clean before it was stored, once for letters and pages.
        html=mark_safe(for_page(html, level=level + 1)),  # noqa: S308
        images=tuple(File(one.url, one.alt) for one in pictures_beside(stood)[:MOST_PAGE_MEDIA]),
        files=tuple(files[:MOST_PAGE_MEDIA]),
        language=language,
        direction=runs,
        title_direction=title_direction(title, runs),
        is_cut=html != stood.html,
    )


@dataclass(frozen=True, slots=True)
class Link:
    url: str
    title: str


@dataclass(frozen=True, slots=True)
class Records:
    """Addresses of the records that an issue's page proves, or ""."""

    publication: str = ""
    document: str = ""


NO_RECORDS = Records()


@dataclass(frozen=True, slots=True)
class Words:
    """Language of the page, which is its reader's."""

    language: str
    direction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """Input of an issue's page. Addresses are absolute or begin with a slash.

    `description` is the newsletter's; `summary` and `picture` are for link previews; `accounts` are the
    newsletter's pages at other services. `language` is the
    posts', `reads` the reader's.
    """

    newsletter: str
    title: str
    published: datetime
    posts: tuple[PagePost, ...]
    page_url: str
    archive_url: str
    issue_url: str
    stylesheet: str
    icon: str = ""
    description: str = ""
    summary: str = ""
    picture: str = ""
    accounts: tuple[str, ...] = ()
    note_top: str = ""
    note_foot: str = ""
    language: str = DEFAULT_LANGUAGE
    reads: str = DEFAULT_LANGUAGE
    time_zone: str = "UTC"
    params: Mapping[str, str] = field(default_factory=dict)
    theme: ThemeFacts = USUAL_THEME
    site: SiteFacts = USUAL_SITE
    earlier: Link | None = None
    later: Link | None = None
    records: Records = NO_RECORDS
    updated: datetime | None = None
    is_open: bool = False
    is_listed: bool = True
    own: TemplateSource | None = None


def _article(facts: PageFacts) -> dict[str, Any]:
    language = {"inLanguage": language_tag(facts.language)}
    newsletter = periodical(
        facts.site,
        url=facts.issue_url.partition("archive/")[0],
        name=facts.newsletter,
        sameAs=facts.accounts,
        **language,
    )
    return article(
        newsletter,
        url=facts.issue_url,
        headline=facts.title,
        description=facts.summary,
        image=facts.picture,
        datePublished=facts.published.isoformat(),
        dateModified=(facts.updated or facts.published).isoformat(),
        **language,
    )


def render_page(facts: PageFacts) -> str:
    """Return the html, with FORM in place of the form. Raises LetterError."""
    names = (
        "title", "published", "posts", "page_url", "archive_url", "issue_url", "stylesheet", "icon",
        "description", "summary", "picture", "note_top", "note_foot", "earlier", "later", "is_open",
        "is_listed", "updated", "records",
    )  # fmt: skip
    reads = spoken(facts.reads)
    with translation.override(reads), timezone.override(ZoneInfo(facts.time_zone)):
        context = {
            "newsletter": look(
                name=facts.newsletter,
                language=facts.language,
                params=facts.params,
                theme=facts.theme,
                site=facts.site,
            ),
            "site": facts.site,
            "structured_data": json_ld(_article(facts)),
            "words": Words(reads, direction(reads)),
            "subscribe_form": mark_safe(FORM if facts.is_open else ""),  # noqa: S308
            **{name: getattr(facts, name) for name in names},
        }
        return engine.render_parts(ISSUE_PAGE, context, Placeholders({}), facts.own).html
