"""Cells that a spreadsheet would take for a formula, made text by an apostrophe in front of them.

What a stranger typed as a name must not run when an admin opens the list (OWASP, “CSV injection”).
"""

import re

# A formula may also begin after what some systems take for the end of a cell: a semicolon ends cells where
# numbers are written with a comma, and Unicode has more ends of a line than two. Where Chinese or Japanese is
# typed, the full-width signs count as well.
_BEGIN = r"(?:^|(?<=[;,\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]))"
_SIGN = r"[=+\-@＝＋－＠\t\r]"
_RISKY = re.compile(rf"{_BEGIN}(?='*{_SIGN})")
_MADE_SAFE = re.compile(rf"{_BEGIN}'(?='*{_SIGN})")


def as_text(cell: str) -> str:
    """The cell, with an apostrophe before what would be a formula. `from_text` takes it off again."""
    return _RISKY.sub("'", cell)


def from_text(cell: str) -> str:
    """The cell as it was before `as_text`."""
    return _MADE_SAFE.sub("", cell)
