"""Renders the page of an issue, the same for everyone: a page has no fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from django.utils import timezone, translation
from django.utils.safestring import mark_safe

from channels.languages import DEFAULT_LANGUAGE, spoken
from channels.placeholders import Placeholders
from common.directions import direction
from delivery.rendering import engine
from delivery.rendering.branding import look
from delivery.rendering.facts import USUAL_THEME, TemplateSource, ThemeFacts
from delivery.rendering.page_posts import PagePost
from subscriptions.rules.site import USUAL_SITE, SiteFacts

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
