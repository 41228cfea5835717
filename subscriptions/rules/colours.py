"""Colours derived from an accent, readable on light and on dark.

coloraide gives the same colours, but its import takes 120 ms and 7 MB, in every command.
"""

import math
import re
from dataclasses import dataclass, fields
from functools import lru_cache

DEFAULT_ACCENT = "#1f5f8b"
PAPER = "#ffffff"
# WCAG 2.2 §1.4.3 (AA), §1.4.6 for thin links on dark, §1.4.11 for a field's edge.
CONTRAST = 4.5
CONTRAST_DARK = 7
CONTRAST_OF_BAND = 9.0
CONTRAST_EDGE = 3
# Relative luminance. Below it, text is light.
DARK = 0.18
DANGER, DANGER_DARK = "#b42318", "#ff9c91"

_BLACK, _WHITE = (0.0, 0.0, 0.0), (255.0, 255.0, 255.0)
_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_Rgb = tuple[float, float, float]
# Chroma from which an accent tints greys fully.
_COLOURFUL = 0.08
_STEPS = 40
# Lightness and chroma (Oklch), light and dark.
_LETTER = (
    {
        "paper": (1, 0),
        "ink": (0.25, 0.01),
        "title": (0.22, 0.012),
        "quote": (0.43, 0.014),
        "muted": (0.5, 0.014),
        "edge": (0.87, 0.012),
        "rule": (0.905, 0.01),
        "block": (0.965, 0.006),
    },
    {
        "paper": (0.205, 0.008),
        "ink": (0.915, 0.008),
        "title": (0.96, 0.006),
        "quote": (0.79, 0.01),
        "muted": (0.71, 0.012),
        "edge": (0.42, 0.012),
        "rule": (0.335, 0.012),
        "block": (0.255, 0.01),
    },
)
_PAGE = (
    {
        "ground": (0.99, 0.003),
        "text": (0.22, 0.01),
        "quiet": (0.47, 0.014),
        "line": (0.905, 0.012),
        "field": (1, 0),
        "field_line": (0.61, 0.016),
        "tint": (0.96, 0.013),
    },
    {
        "ground": (0.2, 0.008),
        "text": (0.925, 0.006),
        "quiet": (0.715, 0.012),
        "line": (0.325, 0.012),
        "field": (0.235, 0.01),
        "field_line": (0.585, 0.014),
        "tint": (0.255, 0.013),
    },
)


@dataclass(frozen=True, slots=True)
class Palette:
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
    # Dark shade of the accent, for white words on a wide block by night.
    band: str


@dataclass(frozen=True, slots=True)
class PageColours:
    ground: str
    text: str
    quiet: str
    line: str
    field: str
    field_line: str
    accent: str
    on_accent: str
    tint: str
    danger: str


def palettes(accent: str, background: str = "") -> tuple[Palette, Palette]:
    """Return colours for light and dark, with text that meets AA. A dark background is used for both."""
    chosen = _chosen(accent, DEFAULT_ACCENT)
    paper = _chosen(background, "")
    by_day = _palette(chosen, paper)
    return by_day, by_day if paper and is_dark(paper) else _palette(chosen, "", night=True)


def page_colours(accent: str, background: str = "") -> tuple[PageColours, PageColours]:
    """With a background there is no tint."""
    chosen = _chosen(accent, DEFAULT_ACCENT)
    if paper := _chosen(background, ""):
        by_day, by_night = palettes(chosen, paper)
        return _on_one_ground(by_day), _on_one_ground(by_night)
    return _page(chosen, night=False), _page(chosen, night=True)


def as_hex(accent: str) -> str:
    """Invalid colours give the default."""
    return _chosen(accent, DEFAULT_ACCENT)


def accent_by_day(accent: str) -> str:
    return page_colours(accent)[0].accent if accent else ""


def stylesheet(accent: str, background: str = "") -> str:
    if not accent and not background:
        return ""
    rules = []
    for colours in page_colours(accent, background):
        scheme = "dark" if is_dark(colours.ground) else "light"
        named = ((field.name.replace("_", "-"), getattr(colours, field.name)) for field in fields(colours))
        values = " ".join(f"--{name}: {value};" for name, value in named)
        rules.append(f"html:root {{ color-scheme: {scheme}; {values} }}")
    day, night = rules
    return f"{day}\n@media (prefers-color-scheme: dark) {{ {night} }}\n"


def is_dark(colour: str) -> bool:
    return _luminance(_rgb(colour)) < DARK


def readable(colour: str, paper: str, least: float = CONTRAST) -> str:
    """Return the colour or its nearest readable shade."""
    given, on, towards = _rgb(colour), _rgb(paper), _WHITE if is_dark(paper) else _BLACK
    for step in range(21):
        red, green, blue = (round(a + (b - a) * step / 20) for a, b in zip(given, towards, strict=True))
        if _contrast((red, green, blue), on) >= least:
            return _hex((red, green, blue))
    return _hex(towards)


def shade(accent: str, paper: str, least: float) -> str:
    """Return the accent or its nearest readable lightness."""
    if contrast(accent, paper) >= least:
        return accent
    lightness, a, b = _oklab(_rgb(accent))
    end = 1.0 if is_dark(paper) else 0.0
    for step in range(1, _STEPS):
        at = lightness + (end - lightness) * step / _STEPS
        # Very light and very dark colours have less chroma in sRGB.
        shares = (1 - fade / _STEPS for fade in range(_STEPS + 1))
        found = next(_of_oklab(at, a * s, b * s) for s in shares if _is_shown(at, a * s, b * s) or not s)
        if contrast(found, paper) >= least:
            return found
    return readable(accent, paper, least)


def contrast(one: str, other: str) -> float:
    """Return 1 to 21 (WCAG 2.2)."""
    return _contrast(_rgb(one), _rgb(other))


@lru_cache(maxsize=256)
def _palette(accent: str, paper: str, *, night: bool = False) -> Palette:
    night = is_dark(paper) if paper else night
    usual = {name: _lean(accent, *value) for name, value in _LETTER[night].items()}
    paper = paper or usual["paper"]

    def text(colour: str, least: float = CONTRAST) -> str:
        return readable(colour, paper, least)

    def tint(colour: str) -> str:
        on, usual_paper, own = _rgb(paper), _rgb(usual["paper"]), _rgb(colour)
        return _hex(tuple(max(0, min(255, p + c - u)) for p, c, u in zip(on, own, usual_paper, strict=True)))

    link = shade(accent, paper, CONTRAST_DARK if night else CONTRAST)
    return Palette(
        paper=paper,
        ink=text(usual["ink"], 7),
        title=text(usual["title"], 7),
        quote=text(usual["quote"]),
        muted=text(usual["muted"]),
        edge=tint(usual["edge"]),
        rule=tint(usual["rule"]),
        block=tint(usual["block"]),
        accent=link,
        on_accent=_on(link, accent),
        band=shade(accent, "#ffffff", CONTRAST_OF_BAND),
    )


@lru_cache(maxsize=256)
def _page(accent: str, *, night: bool) -> PageColours:
    grey = {name: _lean(accent, *value) for name, value in _PAGE[night].items()}
    # Ground and field have more contrast than the tint.
    tint = grey["tint"]
    link = shade(accent, tint, CONTRAST_DARK if night else CONTRAST)
    return PageColours(
        ground=grey["ground"],
        text=readable(grey["text"], tint, 7),
        quiet=readable(grey["quiet"], tint),
        line=grey["line"],
        field=grey["field"],
        field_line=readable(grey["field_line"], tint, CONTRAST_EDGE),
        accent=link,
        on_accent=_on(link, accent),
        tint=tint,
        danger=readable(DANGER_DARK if night else DANGER, tint),
    )


def _on_one_ground(letter: Palette) -> PageColours:
    paper = letter.paper
    return PageColours(
        ground=paper,
        text=letter.ink,
        quiet=letter.muted,
        line=letter.rule,
        field=paper,
        field_line=letter.muted,
        accent=letter.accent,
        on_accent=letter.on_accent,
        tint=paper,
        danger=readable(DANGER_DARK if is_dark(paper) else DANGER, paper),
    )


def _on(link: str, accent: str) -> str:
    dark = _lean(accent, *_LETTER[1]["paper"])
    return next((each for each in (PAPER, dark) if contrast(each, link) >= CONTRAST), "#000000")


def on_colour(ground: str) -> str:
    """Return a readable colour for words on it."""
    return _on(ground, ground)


def _contrast(one: _Rgb, other: _Rgb) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: _Rgb) -> float:
    red, green, blue = map(_linear, colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(value: float) -> float:
    share = value / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def _lean(accent: str, lightness: float, chroma: float) -> str:
    _, a, b = _oklab(_rgb(accent))
    size = math.hypot(a, b)
    share = chroma * min(1, size / _COLOURFUL) / size if size > 1e-4 else 0
    return _of_oklab(lightness, a * share, b * share)


def _oklab(colour: _Rgb) -> _Rgb:
    """Ottosson's matrices."""
    red, green, blue = map(_linear, colour)
    l, m, s = (  # noqa: E741 - their names
        math.cbrt(x * red + y * green + z * blue)
        for x, y, z in (
            (0.4122214708, 0.5363325363, 0.0514459929),
            (0.2119034982, 0.6806995451, 0.1073969566),
            (0.0883024619, 0.2817188376, 0.6299787005),
        )
    )
    return (
        0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
        1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
        0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s,
    )


def _of_oklab(lightness: float, a: float, b: float) -> str:
    linear = _linear_of_oklab(lightness, a, b)
    return _hex(tuple(round(255 * _gamma(min(1, max(0, value)))) for value in linear))


def _is_shown(lightness: float, a: float, b: float) -> bool:
    return all(-1e-4 <= value <= 1.0001 for value in _linear_of_oklab(lightness, a, b))


def _linear_of_oklab(lightness: float, a: float, b: float) -> _Rgb:
    l, m, s = (  # noqa: E741 - their names
        (lightness + x * a + y * b) ** 3
        for x, y in (
            (0.3963377774, 0.2158037573),
            (-0.1055613458, -0.0638541728),
            (-0.0894841775, -1.2914855480),
        )
    )
    return (
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    )


def _gamma(value: float) -> float:
    return 12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055


def _chosen(colour: str, otherwise: str) -> str:
    return _hex(_rgb(colour.strip())) if _HEX.fullmatch(colour.strip()) else otherwise


def _rgb(colour: str) -> _Rgb:
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    red, green, blue = (int(digits[at : at + 2], 16) for at in (0, 2, 4))
    return red, green, blue


def _hex(colour: tuple[float, ...]) -> str:
    return "#" + "".join(f"{int(value):02x}" for value in colour)
