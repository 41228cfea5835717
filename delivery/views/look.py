"""The colours of a newsletter's pages, as a stylesheet: pages have no styles of their own (their policy)."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from delivery.rendering import page_colours
from delivery.services.theming import theme_of
from delivery.views.issues import newsletter_or_404
from subscriptions.models import Subscribable

KEPT_SECONDS = 300


@require_safe
def look_css(request: HttpRequest, name: str) -> HttpResponse:
    """By day and by night; empty where nothing was chosen."""
    styles = stylesheet_of(newsletter_or_404(name))
    response = HttpResponse(styles, content_type="text/css; charset=utf-8")
    response.headers["Cache-Control"] = f"max-age={KEPT_SECONDS}"
    return response


def stylesheet_of(newsletter: Subscribable) -> str:
    """What the newsletter's pages wear."""
    theme = theme_of(newsletter)
    return page_colours.stylesheet(theme.accent or newsletter.params.get("accent", ""), theme.background)
