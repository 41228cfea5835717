"""The look that an admin chose for a newsletter, as rendering sees it. Pure."""

from dataclasses import dataclass

LOGO_WIDTH = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class ThemeFacts:
    """Colours are #rrggbb, `logo_width` is in CSS pixels, `subject` is a pattern. Empty: the usual."""

    accent: str = ""
    background: str = ""
    logo_url: str = ""
    logo_alt: str = ""
    logo_width: int = LOGO_WIDTH
    header: str = ""
    footer: str = ""
    postal_address: str = ""
    subject: str = ""


USUAL = ThemeFacts()
