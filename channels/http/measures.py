"""How services count a text: so many “characters” are something else with each of them. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

import grapheme

Measure = Callable[[str], int]

# A grapheme may hold any number of code points: a text of more than so many for each is not counted out.
CODE_POINTS_PER_GRAPHEME = 16

# GSM 03.38 (3GPP TS 23.038 §6.2.1): one septet each, and those of the extension table two.
GSM_LETTERS = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà"
)
GSM_EXTENSION = frozenset("€[]{}~^\\|\f")
# A message in one part, and a part of several, which begins with a header of six octets.
ONE_GSM_PART, GSM_PART = 160, 153
ONE_UCS2_PART, UCS2_PART = 70, 67


def graphemes(text: str) -> int:
    """What a person counts as letters: Mastodon, Bluesky."""
    return int(grapheme.length(text))


def code_points(text: str) -> int:
    """Discord, Slack."""
    return len(text)


def utf16_units(text: str) -> int:
    """Telegram: what lies beyond the basic plane counts twice."""
    return len(text) + sum(char > "\uffff" for char in text)


def octets(text: str) -> int:
    """Bytes in UTF-8: Bluesky, ntfy, Matrix, Web Push."""
    return len(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True, slots=True)
class SmsMeasure:
    """How many parts a phone network makes of a text, its units, and how many a part has room for."""

    parts: int
    units: int
    room: int


def sms_measure(text: str) -> SmsMeasure:
    """In septets if all letters are of the networks' alphabet, else in UTF-16 units; no letter is torn."""
    if all(char in GSM_LETTERS or char in GSM_EXTENSION for char in text):
        costs, one, part = [1 + (char in GSM_EXTENSION) for char in text], ONE_GSM_PART, GSM_PART
    else:
        costs, one, part = [1 + (char > "\uffff") for char in text], ONE_UCS2_PART, UCS2_PART
    units = sum(costs)
    if units <= one:
        return SmsMeasure(1, units, one)
    parts, used = 1, 0
    for cost in costs:
        if used + cost > part:
            parts, used = parts + 1, 0
        used += cost
    return SmsMeasure(parts, units, part)


def sms_parts(text: str) -> int:
    """How many messages a phone network makes of the text, each of which costs."""
    return sms_measure(text).parts


def within(*limits: tuple[Measure, int]) -> Callable[[str], bool]:
    """Whether a text is within all of the limits."""

    def fits(text: str) -> bool:
        return all(
            (measure is not graphemes or len(text) <= most * CODE_POINTS_PER_GRAPHEME)
            and measure(text) <= most
            for measure, most in limits
        )

    return fits
