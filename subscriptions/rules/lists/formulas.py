"""Neutralizes formulas by an apostrophe (OWASP, “CSV injection”)."""

import re

# Semicolons end cells where numbers have decimal commas, Unicode has more line ends, and Chinese and Japanese
# spreadsheets accept full-width signs.
_BEGIN = r"(?:^|(?<=[;,\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]))"
_SIGN = r"[=+\-@＝＋－＠\t\r]"
_RISKY = re.compile(rf"{_BEGIN}(?='*{_SIGN})")
_MADE_SAFE = re.compile(rf"{_BEGIN}'(?='*{_SIGN})")


def as_text(cell: str) -> str:
    return _RISKY.sub("'", cell)


def from_text(cell: str) -> str:
    return _MADE_SAFE.sub("", cell) if "'" in cell else cell
