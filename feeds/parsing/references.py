"""References that mean no character, and ampersands that are none: one of them would cost the whole feed."""

import re

_REFERENCE = re.compile(rb"&#(?:[xX][0-9a-fA-F]+|[0-9]+);?")
# Some programs write an emoji as the two halves that it has in UTF-16.
_PAIR = re.compile(
    rb"&#(x[dD][89abAB][0-9a-fA-F]{2}|5[56][0-9]{3});&#(x[dD][c-fC-F][0-9a-fA-F]{2}|5[67][0-9]{3});"
)
_LAST = 0x10FFFF
# Where an ampersand is a character like any other; and one that begins no reference.
_AMPERSAND = re.compile(
    rb"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|&(?!#|[a-zA-Z][a-zA-Z0-9]{0,30};)", re.DOTALL
)
# WHATWG HTML §13.2.5.80: in these numbers everyone means Windows-1252.
_WINDOWS = {code: char for code in range(0x80, 0xA0) if (char := bytes([code]).decode("cp1252", "ignore"))}


def escaped(body: bytes) -> bytes:
    """The document with the ampersands escaped that stand for themselves ("R&D", "?a=1&b=2")."""
    return _AMPERSAND.sub(lambda match: b"&amp;" if match.group() == b"&" else match.group(), body)


def mend(body: bytes) -> bytes:
    """The document with halves joined and references to what XML does not allow left out."""
    if b"&#" not in body:
        return body
    # A document has many references and few different ones.
    mended = {written: _kept(written) for written in set(_REFERENCE.findall(body))}
    if all(written == kept for written, kept in mended.items()):
        return body
    joined = _PAIR.sub(_joined, body)
    return _REFERENCE.sub(lambda match: mended.get(match.group(), match.group()), joined)


def _joined(match: re.Match[bytes]) -> bytes:
    high, low = _code(match.group(1)), _code(match.group(2))
    if 0xD800 <= high < 0xDC00 <= low < 0xE000:
        return b"&#%d;" % (0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    return match.group()


def _kept(reference: bytes) -> bytes:
    number = reference[2:].rstrip(b";").lower()
    digits = number.lstrip(b"x").lstrip(b"0")
    code = int(digits or b"0", 16 if number.startswith(b"x") else 10) if len(digits) <= 7 else _LAST + 1
    if code in _WINDOWS:
        return b"&#%d;" % ord(_WINDOWS[code])
    # XML 1.0 §2.2
    allowed = (
        code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0xFFFF < code <= _LAST
    )
    return reference if allowed else b""


def _code(text: bytes) -> int:
    return int(text[1:], 16) if text.startswith(b"x") else int(text)
