"""How newsletters look and what was in them, for the pages of the app before this one."""

from collections.abc import Mapping, Sequence

from delivery.models import Theme
from delivery.rendering.look import logo_of
from delivery.rendering.page_colours import accent_by_day
from delivery.rendering.themes import USUAL, ThemeFacts
from delivery.services.theming import facts_of
from delivery.views.posts import latest_of
from subscriptions.models import Subscribable
from subscriptions.showing import Brand, brand_sources, latest_sources


def install() -> None:
    """Called once, when the app is ready."""
    brand_sources.append(brands)
    latest_sources.append(latest_of)


def brands(newsletters: Sequence[Subscribable]) -> Mapping[int, Brand]:
    """By one question; those without a look of their own are left out."""
    themes = {
        row.subscribable_id: facts_of(row) for row in Theme.objects.filter(subscribable__in=newsletters)
    }
    found = {each.pk: _brand(each, themes.get(each.pk, USUAL)) for each in newsletters}
    return {key: brand for key, brand in found.items() if brand != Brand()}


def _brand(newsletter: Subscribable, theme: ThemeFacts) -> Brand:
    chosen = theme.accent or newsletter.params.get("accent", "")
    logo = logo_of(theme)
    return Brand(
        accent=accent_by_day(chosen),
        logo_url=logo.url if logo else "",
        logo_width=logo.width if logo else 0,
        logo_says=logo.says if logo else "",
    )
