"""A preview for the browser: the frames of the page, and the same as JSON while somebody types."""

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
    html = shown.html
    if FORM in html:
        html = html.replace(FORM, sign_up_form(newsletter), 1)
    # A page's stylesheets are written into it, so that its night can be shown by day.
    link = '<link rel="stylesheet" href="{}">'
    ours = link.format(static(STYLESHEET))
    if ours in html:
        found = finders.find(STYLESHEET)
        styles = Path(found).read_text(encoding="utf-8") if found else ""
        html = html.replace(ours, f"<style>{styles}</style>", 1)
    theirs = link.format(reverse("delivery:look", args=[newsletter.name]))
    if theirs in html:
        html = html.replace(theirs, f"<style>{stylesheet_of(newsletter)}</style>", 1)
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
