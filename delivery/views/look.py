"""The accent of a newsletter's pages, as a stylesheet: pages have no styles of their own (their policy)."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from delivery.rendering.colours import Palette, palettes
from delivery.services.theming import theme_of
from delivery.views.issues import newsletter_or_404

KEPT_SECONDS = 300
# The grounds of subscriptions/static/feedletter/site.css.
GROUND, GROUND_DARK = "#fdfcfa", "#171614"


@require_safe
def look_css(request: HttpRequest, name: str) -> HttpResponse:
    """The accent by day and by night; empty where none was chosen."""
    newsletter = newsletter_or_404(name)
    accent = theme_of(newsletter).accent or newsletter.params.get("accent", "")
    response = HttpResponse(stylesheet(accent), content_type="text/css; charset=utf-8")
    response.headers["Cache-Control"] = f"max-age={KEPT_SECONDS}"
    return response


def stylesheet(accent: str) -> str:
    """Stronger than the usual colours wherever it stands; "" for no accent."""
    if not accent:
        return ""
    day, night = palettes(accent, GROUND)[0], palettes(accent, GROUND_DARK)[0]
    return f"{_root(day)}\n@media (prefers-color-scheme: dark) {{ {_root(night)} }}\n"


def _root(colours: Palette) -> str:
    return f"html:root {{ --accent: {colours.accent}; --on-accent: {colours.on_accent}; }}"
