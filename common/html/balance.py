"""Bounded nesting of HTML.

Parsers reopen unclosed formatting in every later block (WHATWG HTML §13.2.4.3): 40 KB of `<b id=1>…<p>x`
become 700 MB, and 100,000 nested blocks take half a minute.

Tags written by nh3, which are regular enough for patterns.
"""

import re
from collections import Counter
from collections.abc import Iterator
from html import escape, unescape
from itertools import pairwise
from urllib.parse import quote, urljoin, urlsplit

from common.directions import may_be_rtl, own_direction
from common.text import words

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
# Characters; the rest is not read.
MAX_HTML = 1_000_000
MAX_DEPTH = 60
MAX_FORMATTING = 6
MAX_TAGS = 30_000
MAX_ATTRIBUTES = 100
FORMATTING = words("a b big code em font i nobr s small strike strong tt u")
INLINE = FORMATTING | words("abbr cite del dfn ins kbd mark q samp span sub sup time var")
VOID = words("area base br col embed hr img input link meta param source track wbr")
RAW = words("iframe noembed noframes script style template title")
_BLOCKS = words(
    "address article aside blockquote center details div dl fieldset figcaption figure footer form"
    " h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section table ul dd dt td th tr"
)
_CELLS = frozenset({"td", "th", "tr", "tbody", "thead", "tfoot"})
# Key: an open element, which ends where one of these begins.
_ENDED_BY = {
    "p": _BLOCKS,
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "td": _CELLS,
    "th": _CELLS,
    "tr": _CELLS - {"td", "th"},
}
_ENDING = frozenset().union(*_ENDED_BY.values())
_TAG = re.compile(rf"""<(/?)([a-zA-Z][^\s<>/"'=]*)(?=[\s/>])({RAW_VALUES})>""")


class _Balancer:
    def __init__(self) -> None:
        self.out: list[str] = []
        self.stack: list[str] = []
        self.dropped: Counter[str] = Counter()
        self.tags = 0

    def start(self, name: str, attributes: str) -> None:
        self.tags += 1
        while name in _ENDING:
            block = next((open_ for open_ in reversed(self.stack) if open_ not in INLINE), "")
            if name not in _ENDED_BY.get(block, ()):
                break
            self._close_through(block)
        if name in VOID:
            self.out.append(f"<{name}{attributes}>")
            return
        formatting = sum(open_ in FORMATTING for open_ in self.stack) if name in FORMATTING else 0
        if len(self.stack) >= MAX_DEPTH or formatting >= MAX_FORMATTING or self.tags > MAX_TAGS:
            self.dropped[name] += 1
        else:
            self.out.append(f"<{name}{attributes.rstrip('/')}>")
            self.stack.append(name)
            if attributes.endswith("/") and "math" in self.stack:
                self._close_through(name)

    def frame(self, attributes: str) -> None:
        self.tags += 1
        if self.tags <= MAX_TAGS and len(attributes.split()) <= MAX_ATTRIBUTES:
            self.out.append(f"<iframe{attributes.rstrip('/')}></iframe>")

    def end(self, name: str) -> None:
        if self.dropped[name]:
            self.dropped[name] -= 1
        elif name in self.stack:
            self._close_through(name)

    def close(self) -> str:
        if self.stack:
            self._close_through(self.stack[0], len(self.stack))
        return "".join(self.out)

    def _close_through(self, name: str, count: int | None = None) -> None:
        depth = count or self.stack[::-1].index(name) + 1
        self.out.extend(f"</{open_}>" for open_ in reversed(self.stack[-depth:]))
        del self.stack[-depth:]


def balance(html: str) -> str:
    """Close every tag; keep at most 60 levels and 30,000 tags. Linear time."""
    balancer = _Balancer()
    for text, tag in _pieces(html):
        balancer.out.append(text.replace("<", "&lt;"))
        if tag is None:
            continue
        closing, name, attributes = tag.group(1), tag.group(2).lower(), tag.group(3)
        if closing:
            balancer.end(name)
        elif name == "iframe":
            balancer.frame(attributes)
        elif name not in RAW:
            balancer.start(name, attributes if len(attributes.split()) <= MAX_ATTRIBUTES else "")
    return balancer.close()


def _pieces(html: str) -> Iterator[tuple[str, re.Match[str] | None]]:
    parts, position = [], 0
    while (start := html.find("<!", position)) >= 0:
        parts.append(html[position:start])
        ends = "-->" if html.startswith("<!--", start) else ">"
        end = html.find(ends, start + 2)
        position = end + len(ends) if end >= 0 else len(html)
    html = "".join([*parts, html[position:]])
    position, lowered = 0, html.lower()
    while tag := _TAG.search(html, position):
        yield html[position : tag.start()], tag
        position = tag.end()
        if tag.group(2).lower() in RAW and not tag.group(1):
            end = lowered.find(f"</{tag.group(2).lower()}", position)
            if end < 0:
                return
            position = end
    yield html[position:], None


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
