"""Cells that a spreadsheet would take for a formula: an apostrophe in front makes them text.

What a stranger typed as a name must not run when an admin opens the list (OWASP, “CSV injection”).
"""

import re

_RISKY = re.compile(r"'*[=+\-@\t\r]")
_MADE_SAFE = re.compile(r"'+[=+\-@\t\r]")


def as_text(cell: str) -> str:
    """The cell, with an apostrophe before what would be a formula. `from_text` takes it off again."""
    return f"'{cell}" if _RISKY.match(cell) else cell


def from_text(cell: str) -> str:
    """The cell as it was before `as_text`."""
    return cell[1:] if cell[:1] == "'" and _MADE_SAFE.match(cell) else cell
