"""What the base of every letter needs to know: whose it is, its language and colours."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from common.text import one_line
from delivery.rendering.colours import accents
from delivery.rendering.languages import DEFAULT, direction, language_tag


@dataclass(frozen=True, slots=True)
class Look:
    """`name` as readers see it; `params` are the newsletter's extra parameters."""

    name: str
    language: str
    direction: str
    accent: str
    accent_dark: str
    postal_address: str
    params: Mapping[str, str]


def look(*, name: str, language: str, params: Mapping[str, str], accent: str = "") -> Look:
    """The look of one newsletter. The parameter `accent` gives the colour where nothing else does."""
    light, dark = accents(accent or params.get("accent", ""))
    return Look(
        name=one_line(name),
        language=language_tag(language) or DEFAULT,
        direction=direction(language),
        accent=light,
        accent_dark=dark,
        postal_address=params.get("postal_address", "").strip(),
        params=MappingProxyType(dict(params)),
    )
