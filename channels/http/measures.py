from collections.abc import Callable

import grapheme

Measure = Callable[[str], int]

# A grapheme may have any number of code points; longer texts are not counted.
CODE_POINTS_PER_GRAPHEME = 16

# GSM 03.38 (3GPP TS 23.038 §6.2.1): one septet each, and two for the extension table.
GSM_LETTERS = frozenset(
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿"
    "abcdefghijklmnopqrstuvwxyzäöñüà"
)
GSM_EXTENSION = frozenset("€[]{}~^\\|\f")
# A single message, and a part of several, which begins with a header of six octets.
ONE_GSM_PART, GSM_PART = 160, 153
ONE_UCS2_PART, UCS2_PART = 70, 67


def graphemes(text: str) -> int:
    """Count as Mastodon and Bluesky do."""
    return int(grapheme.length(text))


def utf16_units(text: str) -> int:
    """Count as Telegram does."""
    return len(text) + sum(char > "\uffff" for char in text)


def octets(text: str) -> int:
    """Count UTF-8, as Bluesky, ntfy, Matrix and Web Push do."""
    return len(text.encode("utf-8", "surrogatepass"))


def sms_measure(text: str) -> tuple[int, int, int]:
    """Return parts, units, and units per part.

    Uses septets if the GSM alphabet suffices, else UTF-16 units; never splits a letter.
    """
    if all(char in GSM_LETTERS or char in GSM_EXTENSION for char in text):
        costs, one, part = [1 + (char in GSM_EXTENSION) for char in text], ONE_GSM_PART, GSM_PART
    else:
        costs, one, part = [1 + (char > "\uffff") for char in text], ONE_UCS2_PART, UCS2_PART
    units = sum(costs)
    if units <= one:
        return 1, units, one
    parts, used = 1, 0
    for cost in costs:
        if used + cost > part:
            parts, used = parts + 1, 0
        used += cost
    return parts, units, part


def sms_parts(text: str) -> int:
    return sms_measure(text)[0]


def within(*limits: tuple[Measure, int]) -> Callable[[str], bool]:
    def fits(text: str) -> bool:
        return all(
            (measure is not graphemes or len(text) <= most * CODE_POINTS_PER_GRAPHEME)
            and measure(text) <= most
            for measure, most in limits
        )

    return fits
