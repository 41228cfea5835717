"""Tags written by nh3, which are regular enough for patterns."""

import re
from html import escape, unescape
from itertools import pairwise
from urllib.parse import quote, urljoin, urlsplit

from common.directions import may_be_rtl, own_direction

# nh3 escapes quotes and angle brackets in values.
VALUES = r'(?: [^\s=">]+="[^"]*")*'
# In foreign HTML. Without "<", so that matching is linear.
RAW_VALUES = r"""[^<>"']*(?:"[^"<]*"[^<>"']*|'[^'<]*'[^<>"']*)*"""
_OUTSIDE = "".join(map(chr, range(33)))
_LINE_BREAK = re.compile(r"[\t\n\r]")
_SPACE = re.compile(r"\s")
# A backslash in a path means a slash.
_BACKSLASHED = re.compile(r"(?:https?:|[\\/])[^?#]*", re.IGNORECASE)
_BLOCK = re.compile(
    rf"</?(?:p|pre|div|li|d[dt]|t[dh]|h[1-6]|blockquote|figcaption|caption|summary|[ou]l|table|tr)({VALUES})>|\Z"
)
ANY_TAG = re.compile(r"<[^<>]*>")
TAG = re.compile(rf"<(?P<end>/?)(?P<name>[a-zA-Z][^\s<>/]*)(?P<values>{VALUES})>")
_ATTRIBUTE = re.compile(r' ([^\s=">]+)="([^"]*)"')


def attributes(text: str) -> dict[str, str]:
    return {name: unescape(value) for name, value in _ATTRIBUTE.findall(text)}


def written(values: dict[str, str]) -> str:
    return "".join(f' {name}="{escape(value)}"' for name, value in values.items())


def text_of(html: str) -> str:
    return unescape(ANY_TAG.sub("", html))


def scheme(url: str) -> str | None:
    """Return it in lower case; None if the address is invalid."""
    try:
        parts = urlsplit(url)
        return parts.scheme.lower() if parts.hostname else None
    except ValueError:
        return None


def mended(url: str) -> str:
    """Read an address as browsers do (WHATWG URL §4.4): without white space and backslashes."""
    url = _LINE_BREAK.sub("", url.strip(_OUTSIDE))
    if "\\" in url and (path := _BACKSLASHED.match(url)):
        url = path[0].replace("\\", "/") + url[path.end() :]
    return _SPACE.sub(lambda space: quote(space[0]), url)


def resolved(url: str, base: str) -> str:
    """Return the absolute http(s) address, or ""."""
    try:
        address = urljoin(base, mended(url))
    except ValueError:
        return ""
    return address if scheme(address) in ("http", "https") else ""


def with_directions(html: str) -> str:
    """Add `dir` to blocks if some are right-to-left and others are not."""
    if not may_be_rtl(html):
        return html
    blocks = [
        (
            block,
            "" if block[0].startswith("</") else own_direction(text_of(html[block.end() : after.start()])),
        )
        for block, after in pairwise(_BLOCK.finditer(html))
    ]
    if len({runs for _, runs in blocks} - {""}) < 2:
        return html
    pieces, position = [], 0
    for block, runs in blocks:
        if runs and " dir=" not in block[0]:
            pieces += [html[position : block.end() - 1], f' dir="{runs}">']
            position = block.end()
    return "".join([*pieces, html[position:]])
