"""The tags of a web page, read in one go: no tree is built, and no page costs more than its length."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from common.text import words

MAX_ATTRIBUTES = 40
# What stands in these is text, not tags (WHATWG HTML §13.2.5).
RAW = words("script style textarea title xmp noembed noframes iframe template")

_START = re.compile(r"<(!--|[a-zA-Z][a-zA-Z0-9:-]{0,40})")
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s/>=][^\s/>=]{0,100})(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+)))?""")
_RAW_ENDS = {name: re.compile(rf"</{name}(?![a-z0-9])", re.IGNORECASE) for name in RAW}


@dataclass(frozen=True, slots=True)
class Tag:
    """A start tag, names in lower case; its content begins at `end`, raw text is up to `raw_end`."""

    name: str
    attributes: dict[str, str]
    end: int
    raw_end: int

    def get(self, name: str) -> str:
        return self.attributes.get(name, "").strip()

    def tokens(self, name: str) -> frozenset[str]:
        """The words of an attribute such as rel or class, in lower case."""
        return frozenset(self.get(name).lower().split())


def tags(html: str) -> Iterator[Tag]:
    """Every start tag outside comments, scripts and the like, in order."""
    position = 0
    while start := _START.search(html, position):
        name = start.group(1).lower()
        if name == "!--":
            position = html.find("-->", start.end()) + 3
            if position < 3:
                return
            continue
        attributes, end = _attributes(html, start.end())
        raw_end = _raw_end(html, name, end)
        yield Tag(name, attributes, end, raw_end)
        position = raw_end


def _attributes(html: str, position: int) -> tuple[dict[str, str], int]:
    """The attributes (the first of a name counts), and where the tag ends."""
    found: dict[str, str] = {}
    for _ in range(MAX_ATTRIBUTES):
        match = _ATTRIBUTE.match(html, position)
        if match is None:
            break
        value = match.group(2) or match.group(3) or match.group(4) or ""
        found.setdefault(match.group(1).lower(), unescape(value))
        position = match.end()
    end = html.find(">", position)
    return found, len(html) if end < 0 else end + 1


def _raw_end(html: str, name: str, end: int) -> int:
    if name not in RAW:
        return end
    closing = _RAW_ENDS[name].search(html, end)
    return closing.start() if closing else len(html)
