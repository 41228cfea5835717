"""Previews in the browser: frames, or JSON for live previews."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.contrib.staticfiles import finders
from django.http import HttpRequest, HttpResponse
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.http import require_safe

from delivery.customisation import theme_of, themes_of
from delivery.letters.templates import Preview
from delivery.rendering.branding import by_day, by_night, header_picture_of, logo_of
from delivery.rendering.facts import USUAL_THEME, ThemeFacts
from delivery.rendering.page_posts import FORM
from delivery.views.issues import newsletter_or_404
from delivery.views.newsletter import sign_up_form
from subscriptions.branding.brands import Brand, site_facts
from subscriptions.models import Subscribable
from subscriptions.rules import colours
from subscriptions.views.pages import as_stylesheet

STYLESHEET = "feedletter/site.css"


@require_safe
def look_css(request: HttpRequest, name: str) -> HttpResponse:
    """Return day and night styles; empty without a theme."""
    return as_stylesheet(request, stylesheet_of(newsletter_or_404(name)))


def stylesheet_of(newsletter: Subscribable) -> str:
    theme = theme_of(newsletter)
    return colours.stylesheet(accent_of(newsletter, theme), theme.background)


def accent_of(newsletter: Subscribable, theme: ThemeFacts | None = None) -> str:
    theme = theme or theme_of(newsletter)
    return theme.accent or newsletter.params.get("accent", "") or site_facts().accent


def brands(newsletters: Sequence[Subscribable]) -> Mapping[int, Brand]:
    """Return brands by newsletter, where there is one, in one query."""
    themes = themes_of([row.pk for row in newsletters])
    found = {}
    for newsletter in newsletters:
        theme = themes.get(newsletter.pk, USUAL_THEME)
        logo, header = logo_of(theme), header_picture_of(theme)
        found[newsletter.pk] = Brand(
            accent=colours.accent_by_day(theme.accent or newsletter.params.get("accent", "")),
            logo_url=logo.url if logo else "",
            logo_width=logo.width if logo else 0,
            logo_says=logo.says if logo else "",
            header_picture_url=header.url if header else "",
            header_picture_says=header.says if header else "",
        )
    return {key: brand for key, brand in found.items() if brand != Brand()}


def frames(shown: Preview, newsletter: Subscribable) -> dict[str, str]:
    """Return the html by day and night, for frames that run nothing."""
    html = shown.html
    if FORM in html:
        html = html.replace(FORM, sign_up_form(newsletter), 1)
    # A page's stylesheets are inlined, so that its night can be shown by day.
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
