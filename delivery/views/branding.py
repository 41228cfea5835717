"""How a newsletter's pages look.

Its colours come as a stylesheet, because the pages' policy allows no styles in the page; its brand is shown
on the pages of the app before this one, too.
"""

from collections.abc import Mapping, Sequence

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from delivery.customisation import theme_facts, theme_of
from delivery.models import Theme
from delivery.rendering.branding import header_picture_of, logo_of
from delivery.rendering.facts import USUAL_THEME
from delivery.views.issues import newsletter_or_404
from delivery.views.posts import latest_of
from subscriptions.branding.brands import Brand, brand_sources, latest_sources
from subscriptions.branding.site import site_facts
from subscriptions.models import Subscribable
from subscriptions.rules import colours
from subscriptions.views.look import as_stylesheet


@require_safe
def look_css(request: HttpRequest, name: str) -> HttpResponse:
    """By day and by night; empty where nothing was chosen."""
    return as_stylesheet(request, stylesheet_of(newsletter_or_404(name)))


def stylesheet_of(newsletter: Subscribable) -> str:
    """What the newsletter's pages wear."""
    theme = theme_of(newsletter)
    accent = theme.accent or newsletter.params.get("accent", "") or site_facts().accent
    return colours.stylesheet(accent, theme.background)


def install() -> None:
    """Called once, when the app is ready."""
    brand_sources.append(brands)
    latest_sources.append(latest_of)


def brands(newsletters: Sequence[Subscribable]) -> Mapping[int, Brand]:
    """By one question; those without a look of their own are left out."""
    themes = {
        row.subscribable_id: theme_facts(row) for row in Theme.objects.filter(subscribable__in=newsletters)
    }
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
