"""Quotes, code, wide tables and headings of posts, as mail programs can show them. Pure."""

import re

from common.html.clean import plain
from common.html.numbering import integer
from common.html.plain_text import to_text
from common.html.tags import VALUES, attributes
from delivery.rendering.branding import as_html

# Of a row on a phone, at 13 pixels; lines break at blanks only.
MOST_COLUMNS, MOST_CHARACTERS = 6, 52
LOWEST_HEADING = 6
_HEADING = re.compile(r"(</?h)([1-6])(?=[\s>])")
# Word has padding and borders in cells only.
_BOX = '<table class="box" role="presentation" width="100%"><tr><td class="{}">'
_BOX_END = "</td></tr></table>"
_QUOTE = re.compile(r"</?blockquote\b[^<>]*>")
_CODE = re.compile(r"<pre\b([^<>]*)>\n*(.*?)\n*</pre>", re.DOTALL)
_BLANKS = re.compile(r"<[^<>]*>|\A +|\n *| {2,}")
_GRID = re.compile(rf'<table(?:{VALUES}) class="grid">.*?</table>', re.DOTALL)
_CELL = re.compile(rf"<t[dh]({VALUES})>(.*?)</t[dh]>", re.DOTALL)


def boxed(html: str, *, level: int) -> str:
    """Write quotes and code as tables of one cell, wide tables as lines. Move headings to `level`."""
    html = shifted(html, level)
    if "<blockquote" in html:
        box = _BOX.format("quote")
        html = _QUOTE.sub(lambda tag: _BOX_END + tag[0] if tag[0][1] == "/" else tag[0] + box, html)
    if "<pre" in html:
        html = _CODE.sub(_code, html)
    return _GRID.sub(_table, html) if 'class="grid"' in html else html


def shifted(html: str, level: int) -> str:
    """Move headings to `level` and below, without gaps."""
    if "<h" not in html:
        return html
    used = sorted({int(match[2]) for match in _HEADING.finditer(html)})
    steps = {number: min(level + place, LOWEST_HEADING) for place, number in enumerate(used)}
    return _HEADING.sub(lambda match: f"{match[1]}{steps[int(match[2])]}", html)


def _code(match: re.Match[str]) -> str:
    """Keep lines and indents without `white-space`, which Samsung's program lacks."""
    html = _BLANKS.sub(
        lambda part: part[0] if part[0][0] == "<" else part[0].replace(" ", "&nbsp;").replace("\n", "<br>"),
        match[2].replace("\t", "    "),
    )
    return f'<div class="code"{match[1]}>{_BOX.format("code")}{html}{_BOX_END}</div>'


def _table(match: re.Match[str]) -> str:
    """Write a table of words that is wider than a phone as lines of "heading: value"."""
    for row in match[0].split("</tr>") if "<img" not in match[0] else ():
        cells = _CELL.findall(row)
        columns = sum(integer(attributes(values).get("colspan", ""), otherwise=1) for values, _ in cells)
        words = (max(map(len, plain(html).split()), default=0) + 1 for _, html in cells)
        if columns > MOST_COLUMNS or sum(words) > MOST_CHARACTERS:
            return as_html(to_text(match[0], width=None))
    return match[0]
