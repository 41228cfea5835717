"""Numeric character references that mean no character: one of them would cost the whole feed."""

import re

_REFERENCE = re.compile(rb"&#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?")
# Some programs write an emoji as the two halves that it has in UTF-16.
_PAIR = re.compile(
    rb"&#(x[dD][89abAB][0-9a-fA-F]{2}|5[56][0-9]{3});&#(x[dD][c-fC-F][0-9a-fA-F]{2}|5[67][0-9]{3});"
)
_LAST = 0x10FFFF


def mend(body: bytes) -> bytes:
    """The document with halves joined and references to what XML does not allow left out."""
    if b"&#" not in body:
        return body
    return _REFERENCE.sub(_kept, _PAIR.sub(_joined, body))


def _joined(match: re.Match[bytes]) -> bytes:
    high, low = _code(match.group(1)), _code(match.group(2))
    if 0xD800 <= high < 0xDC00 <= low < 0xE000:
        return b"&#%d;" % (0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    return match.group()


def _kept(match: re.Match[bytes]) -> bytes:
    hexadecimal, decimal = match.groups()
    digits = (hexadecimal or decimal).lstrip(b"0")
    code = int(digits or b"0", 16 if hexadecimal else 10) if len(digits) <= 7 else _LAST + 1
    # XML 1.0 §2.2
    allowed = (
        code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0xFFFF < code <= _LAST
    )
    return match.group() if allowed else b""


def _code(text: bytes) -> int:
    return int(text[1:], 16) if text.startswith(b"x") else int(text)
