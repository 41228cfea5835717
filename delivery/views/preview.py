"""A preview for the browser: the frames of the page, and the same as JSON while somebody types."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.urls import reverse

from delivery.letters.preview import Preview
from delivery.rendering.page import FORM
from delivery.rendering.schemes import by_day, by_night
from delivery.views.branding import stylesheet_of
from delivery.views.newsletter import sign_up_form
from subscriptions.models import Subscribable

STYLESHEET = "feedletter/site.css"


def frames(shown: Preview, newsletter: Subscribable) -> dict[str, str]:
    """The html by day and by night, each for a frame of its own that runs nothing."""
    html = _with_styles(_with_form(shown.html, newsletter), newsletter)
    return {"day": by_day(html), "night": by_night(html)} if html else {"day": "", "night": ""}


def as_json(shown: Preview, newsletter: Subscribable, note: str) -> dict[str, Any]:
    """What the page puts into its places."""
    problem = shown.problem
    return {
        "subject": shown.subject,
        "text": shown.text,
        "raw": shown.raw,
        "note": note,
        "problem": None
        if problem is None
        else {"sentence": str(problem), "part": problem.part, "line": problem.line},
        **frames(shown, newsletter),
    }


def _with_form(html: str, newsletter: Subscribable) -> str:
    return html.replace(FORM, sign_up_form(newsletter), 1) if FORM in html else html


def _with_styles(html: str, newsletter: Subscribable) -> str:
    """A page's stylesheets are written into it, so that its night can be shown by day."""
    look = reverse("delivery:look", args=[newsletter.name])
    links: dict[str, Callable[[], str]] = {
        static(STYLESHEET): _styles,
        look: lambda: stylesheet_of(newsletter),
    }
    for address, styles in links.items():
        link = f'<link rel="stylesheet" href="{address}">'
        if link in html:
            html = html.replace(link, f"<style>{styles()}</style>", 1)
    return html


def _styles() -> str:
    found = finders.find(STYLESHEET)
    return Path(found).read_text(encoding="utf-8") if found else ""
