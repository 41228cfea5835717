"""Bounded nesting of HTML.

Parsers reopen unclosed formatting in every later block (WHATWG HTML §13.2.4.3): 40 KB of `<b id=1>…<p>x`
become 700 MB, and 100,000 nested blocks take half a minute.
"""

import re
from collections import Counter
from collections.abc import Iterator

from common.html.tags import RAW_VALUES
from common.text import words

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
