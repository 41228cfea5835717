"""Renders an issue once for everybody."""

from typing import Any

from django.utils import timezone, translation

from common.text import one_line, shortened
from delivery.rendering import engine, subjects
from delivery.rendering.facts import IssueFacts
from delivery.rendering.holes import Holes
from delivery.rendering.languages import spoken
from delivery.rendering.look import look
from delivery.rendering.posts import Post, post, web_address
from delivery.rendering.rendered import LetterError, Rendered
from delivery.rendering.shortening import fair_share

__all__ = ["IssueFacts", "Rendered", "render_issue"]

# Gmail hides what comes after 102 KB. Posts that can be read elsewhere are cut until a letter fits.
MAX_HTML = 100_000
MAX_OUTPUT = 5_000_000
_BUDGETS = (60_000, 30_000, 10_000)  # characters of the posts' own html
_UNCUT_BUDGET = 1_000_000  # for posts that stand nowhere else
MOST_POSTS = 50
MOST_MENTIONED = 200


def render_issue(facts: IssueFacts) -> Rendered:
    """The form letter of an issue. Pure but for the template files; takes milliseconds.

    Raises LetterError: the template is unknown or broken, or the letter too large.
    """
    if not facts.entries:
        raise LetterError("An issue without posts cannot be rendered.")
    template = facts.template or usual_template(facts)
    engine.known(engine.ISSUES, template)
    with translation.override(spoken(facts.language)), timezone.override(facts.zone):
        rendered = _fitting(facts, template)
    if len(rendered.html) > MAX_OUTPUT or len(rendered.text) > MAX_OUTPUT:
        raise LetterError(f"The letter is larger than {MAX_OUTPUT:,} characters.")
    return rendered


def usual_template(facts: IssueFacts) -> str:
    """`digest` for collections; for one post `post`, or `announcement` when the feed gives only its link."""
    if facts.arrangement != "each" or len(facts.entries) > 1:
        return "digest"
    (entry,) = facts.entries
    return "post" if entry.html.strip() or entry.media or not web_address(entry.link) else "announcement"


def _fitting(facts: IssueFacts, template: str) -> Rendered:
    for budget in _BUDGETS:
        rendered = _rendered(facts, template, budget)
        if len(rendered.html.encode()) <= MAX_HTML:
            break
    return rendered


def _rendered(facts: IssueFacts, template: str, budget: int) -> Rendered:
    holes = Holes(facts.params)
    title, subject = subjects.title(facts), subjects.subject(facts)
    html, text = engine.render(f"{engine.ISSUES}/{template}", _context(facts, title, subject, budget), holes)
    return Rendered(title=title, subject=subject, html=html, text=text, holes=holes.used)


def _context(facts: IssueFacts, title: str, subject: str, budget: int) -> dict[str, Any]:
    posts = _posts(facts, budget)
    mentioned = tuple(shortened(one_line(entry.title), 120) for entry in facts.entries[MOST_POSTS:])
    name = facts.readers_name
    return {
        "newsletter": look(name=name, language=facts.language, params=facts.params, accent=facts.accent),
        "description": one_line(facts.description),
        "title": title,
        "subject": subject,
        "dateline": subjects.dateline(facts),
        "preheader": _preheader(posts),
        "posts": posts,
        "count": len(facts.entries),
        "mentioned": tuple(filter(None, mentioned))[:MOST_MENTIONED],
        "archive_url": web_address(facts.archive_url),
        "site_url": web_address(facts.site_url),
    }


def _posts(facts: IssueFacts, budget: int) -> tuple[Post, ...]:
    entries = facts.entries[:MOST_POSTS]
    share = fair_share([len(entry.html) for entry in entries], budget)
    uncut = _UNCUT_BUDGET // len(entries)
    return tuple(
        post(
            entry,
            share=share if web_address(entry.link) or facts.archive_url else uncut,
            zone=facts.zone,
            archive_url=web_address(facts.archive_url),
            newsletter_language=facts.language,
        )
        for entry in entries
    )


def _preheader(posts: tuple[Post, ...]) -> str:
    """What mail programs show after the subject."""
    if len(posts) == 1:
        return posts[0].excerpt
    return shortened(" · ".join(post.title or post.excerpt for post in posts), 180)
