"""A post's clean html, made to stand on a page: under its title, and within the screen. Pure."""

import re

_HEADING = re.compile(r"(</?h)([1-6])(?=[\s>])")
_IMAGE = re.compile(r"<img\b(?![^<>]*\salt=)", re.IGNORECASE)
_TABLE = re.compile(r"(<table\b|</table>)")
# A table too wide for the screen is moved by touch, or by keys, which needs a tab stop.
_AROUND = {"<table": '<div class="wide" tabindex="0"><table', "</table>": "</table></div>"}
LAST = 6


def for_page(html: str, *, level: int) -> str:
    """Its highest heading is of that level; what has no words for who cannot see it says so."""
    if "<h" in html:
        html = _under(html, level)
    if "<img" in html:
        html = _IMAGE.sub('<img alt=""', html)
    if "<table" in html:
        html = _TABLE.sub(lambda match: _AROUND[match[1]], html)
    return html


def _under(html: str, level: int) -> str:
    # Each level that is used is one step below the last: no level is left out.
    used = sorted({int(found[2]) for found in _HEADING.finditer(html)})
    steps = {number: min(level + place, LAST) for place, number in enumerate(used)}
    return _HEADING.sub(lambda match: f"{match[1]}{steps[int(match[2])]}", html)
