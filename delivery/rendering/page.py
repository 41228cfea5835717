"""Renders the page of an issue, the same for everyone: a page has no fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.utils import timezone, translation

from delivery.rendering import engine
from delivery.rendering.holes import Holes
from delivery.rendering.look import look
from delivery.rendering.page_posts import Post
from delivery.rendering.sources import Source
from delivery.rendering.themes import USUAL, ThemeFacts

ISSUE = "pages/issue"


@dataclass(frozen=True, slots=True)
class Link:
    """Where to, and what it is called."""

    url: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What the page of an issue is rendered from. Addresses are absolute or begin with a slash."""

    newsletter: str
    title: str
    published: datetime
    posts: tuple[Post, ...]
    page_url: str
    archive_url: str
    issue_url: str
    stylesheet: str
    icon: str = ""
    description: str = ""
    language: str = "en"
    time_zone: str = "UTC"
    params: Mapping[str, str] = field(default_factory=dict)
    theme: ThemeFacts = USUAL
    earlier: Link | None = None
    later: Link | None = None
    is_open: bool = False
    is_listed: bool = True
    own: Source | None = None


def render_page(facts: PageFacts) -> str:
    """The html. Raises LetterError."""
    # The page's own words are English, whatever the letters speak.
    with translation.override("en"), timezone.override(ZoneInfo(facts.time_zone)):
        return engine.render(ISSUE, _context(facts), Holes({}), facts.own).html


def _context(facts: PageFacts) -> dict[str, Any]:
    names = (
        "title", "published", "posts", "page_url", "archive_url", "issue_url", "stylesheet", "icon",
        "description", "earlier", "later", "is_open", "is_listed",
    )  # fmt: skip
    newsletter = look(name=facts.newsletter, language=facts.language, params=facts.params, theme=facts.theme)
    return {"newsletter": newsletter, **{name: getattr(facts, name) for name in names}}
