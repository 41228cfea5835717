"""A post as pages show it: under its title, and within the screen.

A letter's post costs more to make: it is cut to size, and made into text as well.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import unescape
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
from common.text import one_line, shortened
from delivery.rendering import engine
from delivery.rendering.branding import look
from delivery.rendering.facts import USUAL_THEME, TemplateSource, ThemeFacts, web_address
from delivery.rendering.shortening import shorten
from feeds.parsing.entry import Entry
from feeds.parsing.pictures import files_of, pictures_beside
from subscriptions.rules.site import USUAL_SITE, SiteFacts

_HEADING = re.compile(r"(</?h)([1-6])(?=[\s>])")
_IMAGE = re.compile(r"<img\b(?![^<>]*\salt=)", re.IGNORECASE)
_TABLE = re.compile(r"(<table\b|</table>)")
# A table too wide for the screen is moved by touch, or by keys, which needs a tab stop.
_AROUND = {"<table": '<div class="wide" tabindex="0"><table', "</table>": "</table></div>"}
LOWEST_HEADING = 6
MOST_PAGE_MEDIA = 10
# The level of a page's heading for a post; the post's own headings come below it.
TITLE_LEVEL = 2
# So many characters of html say enough of a post to make readers go on.
PART_LENGTH = 3_000
LONGEST_PAGE_DESCRIPTION = 200
TITLES_DESCRIBED = 20
_PICTURE = re.compile(r'<img\b[^<>]*?\ssrc="([^"]+)"')


def for_page(html: str, *, level: int) -> str:
    """The html with its highest heading at that level, an empty `alt` for images without a description, and
    tables that can be moved sideways."""
    if "<h" in html:
        # Each level that is used is one step below the last: no level is left out.
        used = sorted({int(found[2]) for found in _HEADING.finditer(html)})
        steps = {number: min(level + place, LOWEST_HEADING) for place, number in enumerate(used)}
        html = _HEADING.sub(lambda match: f"{match[1]}{steps[int(match[2])]}", html)
    if "<img" in html:
        html = _IMAGE.sub('<img alt=""', html)
    if "<table" in html:
        html = _TABLE.sub(lambda match: _AROUND[match[1]], html)
    return html


@dataclass(frozen=True, slots=True)
class File:
    """A picture with a description, or something to listen to or download with its name."""

    url: str
    words: str


@dataclass(frozen=True, slots=True)
class PagePost:
    """All addresses are of the web; `link` may be empty. `html` is safe; `is_cut`: whether there is more.

    `language` is empty where the feed names none; `direction` is that of the post's text.
    """

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
        """When it was published, for programs (ISO 8601)."""
        return self.published.isoformat(timespec="seconds") if self.published else ""


@dataclass(frozen=True, slots=True)
class Shown:
    """The posts of an issue; `summary` and `picture` are for what shows a link to its page.

    Notes are an editor's, as safe html.
    """

    posts: tuple[PagePost, ...]
    summary: str = ""
    picture: str = ""
    note_top: str = ""
    note_foot: str = ""


def shown_posts(entries: Sequence[Entry], *, newsletter_language: str = "") -> Shown:
    """A page with these posts, in their order."""
    return Shown(
        posts=tuple(post_of(entry, newsletter_language=newsletter_language) for entry in entries),
        summary=summary_of(entries),
        picture=next(filter(None, map(picture_of, entries)), ""),
    )


def note_on_page(html: str) -> SafeString:
    """An editor's note of html that was cleaned."""
    return mark_safe(for_page(html, level=TITLE_LEVEL))  # noqa: S308


def summary_of(entries: Sequence[Entry]) -> str:
    """The beginning of a single post, or the titles of several."""
    if len(entries) == 1:
        return description_of(entries[0])
    titles = (entry.title for entry in entries[:TITLES_DESCRIBED] if entry.title)
    return shortened(one_line(" · ".join(titles)), LONGEST_PAGE_DESCRIPTION)


def post_of(stood: Entry, *, newsletter_language: str = "") -> PagePost:
    """The post of an entry whose html is clean."""
    return _post(stood, stood.html, TITLE_LEVEL, newsletter_language)


def part_of(stood: Entry, *, newsletter_language: str = "") -> PagePost:
    """Its beginning, to stand under a title of its issue."""
    return _post(stood, shorten(stood.html, PART_LENGTH), TITLE_LEVEL + 1, newsletter_language)


def description_of(stood: Entry) -> str:
    """What the post is about, for a preview of its page, as one line of text."""
    return shortened(stood.warning or plain(stood.html[:5_000]), LONGEST_PAGE_DESCRIPTION)


def picture_of(stood: Entry) -> str:
    """The address of its first picture, for a preview of its page; empty if it has none."""
    if stood.sensitive:
        return ""
    named = [medium.url for medium in stood.media if medium.is_image]
    found = _PICTURE.search(stood.html) if "<img" in stood.html else None
    inside = [unescape(found[1])] if found else []
    return next(filter(None, map(web_address, (*filter(None, (stood.image,)), *named, *inside))), "")


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
        # Sanitised before it was stored (common.html.clean.clean), once for letters and pages alike.
        html=mark_safe(for_page(html, level=level + 1)),  # noqa: S308
        images=tuple(File(one.url, one.alt) for one in pictures_beside(stood)[:MOST_PAGE_MEDIA]),
        files=tuple(files[:MOST_PAGE_MEDIA]),
        language=language,
        direction=runs,
        title_direction=title_direction(title, runs),
        is_cut=html != stood.html,
    )


ISSUE_PAGE = "pages/issue"
# Stands where the form belongs that a page ends with. No post holds a comment: posts are cleaned.
FORM = "<!-- the form to subscribe -->"


@dataclass(frozen=True, slots=True)
class Link:
    """An address of the web and its title."""

    url: str
    title: str


@dataclass(frozen=True, slots=True)
class Words:
    """The language of the page itself, which is its reader's."""

    language: str
    direction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What the page of an issue is rendered from. Addresses are absolute or begin with a slash.

    `description` is the newsletter's; `summary` and `picture` are the issue's, for what shows a link to it.
    `language` is the posts', `reads` the reader's.
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
    is_open: bool = False
    is_listed: bool = True
    own: TemplateSource | None = None


def render_page(facts: PageFacts) -> str:
    """The html, with FORM where the form belongs. Raises LetterError."""
    names = (
        "title", "published", "posts", "page_url", "archive_url", "issue_url", "stylesheet", "icon",
        "description", "summary", "picture", "note_top", "note_foot", "earlier", "later", "is_open",
        "is_listed",
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
            "words": Words(reads, direction(reads)),
            "subscribe_form": mark_safe(FORM if facts.is_open else ""),  # noqa: S308
            **{name: getattr(facts, name) for name in names},
        }
        return engine.render_parts(ISSUE_PAGE, context, Placeholders({}), facts.own).html
