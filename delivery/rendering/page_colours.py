"""The colours of a newsletter's pages, as the custom properties of site.css. Pure."""

from delivery.rendering.colours import Palette, is_dark, palettes, readable

# The grounds of subscriptions/static/feedletter/site.css, and its tints, on which text stands as well. What
# can be read on a tint can be read on its ground: that is lighter by day and darker by night.
GROUND, GROUND_DARK = "#fdfcfa", "#171614"
TINT, TINT_DARK = "#f6efe8", "#25211d"
DANGER, DANGER_DARK = "#b42318", "#ff9c91"


def accent_by_day(accent: str) -> str:
    """The accent as it is shown on pages by day; empty for none."""
    return palettes(accent, TINT)[0].accent if accent else ""


def stylesheet(accent: str, background: str = "") -> str:
    """Stronger than the usual colours wherever it stands; "" where nothing was chosen.

    With a background of its own a page has no tints: one ground, on which all can be read.
    """
    if background:
        return _sheet(*(_all(colours) for colours in palettes(accent, background)))
    if not accent:
        return ""
    return _sheet(*(_accents(palettes(accent, tint)[0]) for tint in (TINT, TINT_DARK)))


def _sheet(day: dict[str, str], night: dict[str, str]) -> str:
    return f"{_root(day)}\n@media (prefers-color-scheme: dark) {{ {_root(night)} }}\n"


def _root(values: dict[str, str]) -> str:
    return f"html:root {{ {' '.join(f'{name}: {value};' for name, value in values.items())} }}"


def _accents(colours: Palette) -> dict[str, str]:
    return {"--accent": colours.accent, "--on-accent": colours.on_accent}


def _all(colours: Palette) -> dict[str, str]:
    night, paper = is_dark(colours.paper), colours.paper
    return {
        "color-scheme": "dark" if night else "light",
        "--ground": paper,
        "--tint": paper,
        "--field": paper,
        "--text": colours.ink,
        "--quiet": colours.muted,
        "--line": colours.rule,
        "--field-line": colours.muted,
        "--danger": readable(DANGER_DARK if night else DANGER, paper),
        **_accents(colours),
    }
