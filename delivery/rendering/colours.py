"""A newsletter's accent colour, made readable on light and on dark. Pure."""

import re

DEFAULT = "#1f5f8b"
PAPER = "#ffffff"
NIGHT = "#17191c"
# WCAG 2.2 §1.4.3 (AA) for text of normal size; thin links on dark want more (§1.4.6).
CONTRAST = 4.5
CONTRAST_DARK = 7

_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_Rgb = tuple[float, float, float]


def accents(colour: str) -> tuple[str, str]:
    """The accent for light and for dark. Anything but #rgb or #rrggbb is the default colour."""
    given = _rgb(colour.strip() if _HEX.fullmatch(colour.strip()) else DEFAULT)
    light = _readable(given, on=_rgb(PAPER), towards=(0, 0, 0), least=CONTRAST)
    return light, _readable(given, on=_rgb(NIGHT), towards=(255, 255, 255), least=CONTRAST_DARK)


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two #rrggbb colours, 1 to 21 (WCAG 2.2)."""
    return _contrast(_rgb(one), _rgb(other))


def _readable(colour: _Rgb, *, on: _Rgb, towards: _Rgb, least: float) -> str:
    for step in range(21):
        mixed = _mix(colour, towards, step / 20)
        if _contrast(mixed, on) >= least:
            return _hex(mixed)
    return _hex(towards)


def _mix(colour: _Rgb, other: _Rgb, share: float) -> _Rgb:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(colour, other, strict=True))
    return red, green, blue


def _contrast(one: _Rgb, other: _Rgb) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: _Rgb) -> float:
    shares = (value / 255 for value in colour)
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _rgb(colour: str) -> _Rgb:
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    red, green, blue = (int(digits[at : at + 2], 16) for at in (0, 2, 4))
    return red, green, blue


def _hex(colour: _Rgb) -> str:
    return "#" + "".join(f"{int(value):02x}" for value in colour)
