"""What the base of every letter needs to know: whose it is, its language, colours and the words around it."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from django.utils.safestring import SafeString

from common.text import one_line
from delivery.rendering.addresses import web_address
from delivery.rendering.colours import Palette, palettes
from delivery.rendering.languages import DEFAULT, direction, language_tag
from delivery.rendering.sayings import as_html, as_text
from delivery.rendering.themes import LOGO_WIDTH, USUAL, ThemeFacts

WIDEST_LOGO = 552


@dataclass(frozen=True, slots=True)
class Logo:
    """`says` is what stands on it; one that says nothing is a mark beside the name."""

    url: str
    width: int
    says: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """`name` as readers see it; `params` are the newsletter's extra parameters.

    `header` and `footer` are safe html, `header_text` and `footer_text` the same as text.
    """

    name: str
    language: str
    direction: str
    day: Palette
    night: Palette
    logo: Logo | None
    header: SafeString
    header_text: str
    footer: SafeString
    footer_text: str
    postal_address: str
    params: Mapping[str, str]

    @property
    def accent(self) -> str:
        """The accent by day."""
        return self.day.accent

    @property
    def accent_dark(self) -> str:
        """The accent by night."""
        return self.night.accent


def look(
    *,
    name: str,
    language: str,
    params: Mapping[str, str],
    accent: str = "",
    theme: ThemeFacts = USUAL,
) -> Look:
    """The look of one newsletter.

    The theme wins where it says something; then `accent`, and the parameters `accent` and `postal_address`.
    """
    day, night = palettes(theme.accent or accent or params.get("accent", ""), theme.background)
    return Look(
        name=one_line(name),
        language=language_tag(language) or DEFAULT,
        direction=direction(language),
        day=day,
        night=night,
        logo=logo_of(theme),
        header=as_html(theme.header),
        header_text=as_text(theme.header),
        footer=as_html(theme.footer),
        footer_text=as_text(theme.footer),
        postal_address=theme.postal_address.strip() or params.get("postal_address", "").strip(),
        params=MappingProxyType(dict(params)),
    )


def logo_of(theme: ThemeFacts) -> Logo | None:
    url = web_address(theme.logo_url)
    width = min(theme.logo_width or LOGO_WIDTH, WIDEST_LOGO)
    return Logo(url, width, one_line(theme.logo_alt)) if url else None
