"""A newsletter's colours, made readable on light and on dark, for letters and as site.css's
properties. Pure.
"""

import re
from dataclasses import dataclass

DEFAULT_ACCENT = "#1f5f8b"
PAPER = "#ffffff"
NIGHT = "#17191c"
# WCAG 2.2 §1.4.3 (AA) for text of normal size; thin links on dark want more (§1.4.6).
CONTRAST = 4.5
CONTRAST_DARK = 7
# A paper darker than this (relative luminance) is written on in light colours.
DARK = 0.18

_BLACK, _WHITE = (0.0, 0.0, 0.0), (255.0, 255.0, 255.0)
_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_Rgb = tuple[float, float, float]
# The grounds of subscriptions/static/feedletter/site.css, and its tints, on which text stands as well. A text
# that is readable on a tint is readable on its ground, which is lighter by day and darker by night.
GROUND, GROUND_DARK = "#fdfcfa", "#171614"
TINT, TINT_DARK = "#f6efe8", "#25211d"
DANGER, DANGER_DARK = "#b42318", "#ff9c91"


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours of a letter: `ink` on `paper`, `on_accent` on `accent`; `block` is behind code."""

    paper: str
    ink: str
    title: str
    quote: str
    muted: str
    edge: str
    rule: str
    block: str
    accent: str
    on_accent: str


_BY_DAY = Palette(
    PAPER,
    "#24211e",
    "#24211e",
    "#57514a",
    "#6a645d",
    "#d9d4cc",
    "#e4e0d9",
    "#f5f3ef",
    DEFAULT_ACCENT,
    "#ffffff",
)
_BY_NIGHT = Palette(
    NIGHT, "#e6e2db", "#f4f1ea", "#bdb7ae", "#a8a29a", "#4a4d52", "#33373c", "#22252a", DEFAULT_ACCENT, NIGHT
)


def palettes(accent: str, background: str = "") -> tuple[Palette, Palette]:
    """The colours by day and by night. Text is AA on its ground, whatever was chosen.

    Anything but #rgb or #rrggbb counts as not chosen. A dark background is kept by night.
    """
    paper = _chosen(background, PAPER)
    by_day = _palette(accent, paper)
    return by_day, by_day if is_dark(paper) else _palette(accent, NIGHT)


def is_dark(colour: str) -> bool:
    """Whether one writes on it in light colours."""
    return _luminance(_rgb(colour)) < DARK


def readable(colour: str, paper: str) -> str:
    """The colour, or the nearest shade of it that can be read on that paper."""
    on = _rgb(paper)
    return _readable(_rgb(colour), on=on, towards=_WHITE if is_dark(paper) else _BLACK, least=CONTRAST)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two #rrggbb colours, 1 to 21 (WCAG 2.2)."""
    return _contrast(_rgb(one), _rgb(other))


def _palette(accent: str, paper: str) -> Palette:
    night = is_dark(paper)
    usual, towards = (_BY_NIGHT, _WHITE) if night else (_BY_DAY, _BLACK)
    on = _rgb(paper)

    def text(colour: str, least: float = CONTRAST) -> str:
        return _readable(_rgb(colour), on=on, towards=towards, least=least)

    def tint(colour: str) -> str:
        # As far from this paper as the usual one is from its own.
        usual_paper, own = _rgb(usual.paper), _rgb(colour)
        return _hex(tuple(max(0, min(255, p + c - u)) for p, c, u in zip(on, own, usual_paper, strict=True)))

    link = text(_chosen(accent, DEFAULT_ACCENT), CONTRAST_DARK if night else CONTRAST)
    return Palette(
        paper=paper,
        ink=text(usual.ink, 7),
        title=text(usual.title, 7),
        quote=text(usual.quote),
        muted=text(usual.muted),
        edge=tint(usual.edge),
        rule=tint(usual.rule),
        block=tint(usual.block),
        accent=link,
        on_accent=next((each for each in (PAPER, NIGHT) if contrast(each, link) >= CONTRAST), "#000000"),
    )


def _readable(colour: _Rgb, *, on: _Rgb, towards: _Rgb, least: float) -> str:
    for step in range(21):
        red, green, blue = (round(a + (b - a) * step / 20) for a, b in zip(colour, towards, strict=True))
        if _contrast((red, green, blue), on) >= least:
            return _hex((red, green, blue))
    return _hex(towards)


def _contrast(one: _Rgb, other: _Rgb) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: _Rgb) -> float:
    shares = (value / 255 for value in colour)
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _chosen(colour: str, otherwise: str) -> str:
    return _hex(_rgb(colour.strip())) if _HEX.fullmatch(colour.strip()) else otherwise


def _rgb(colour: str) -> _Rgb:
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    red, green, blue = (int(digits[at : at + 2], 16) for at in (0, 2, 4))
    return red, green, blue


def _hex(colour: tuple[float, ...]) -> str:
    return "#" + "".join(f"{int(value):02x}" for value in colour)


def accent_by_day(accent: str) -> str:
    """The accent as it is shown on pages by day; empty for none."""
    return palettes(accent, TINT)[0].accent if accent else ""


def stylesheet(accent: str, background: str = "") -> str:
    """Style rules that win over the usual colours wherever they stand; "" where nothing was chosen.

    A page with a background of its own has no tints: it has one ground, on which everything is readable.
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
