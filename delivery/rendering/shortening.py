"""Shortens long posts: Gmail clips letters at 102 KB, which would hide the unsubscribe link."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape, unescape

from django.utils.text import Truncator

from common.html.balance import ANY_TAG, TAG, VOID
from common.text import words

# Possible ends of a cut post; a heading would have nothing below it.
_BLOCKS = words(
    "p li ul ol dl dd blockquote pre table tr figure div section article aside details center address"
)
# Minimum to keep of what fits; a longer block is cut inside.
_LEAST = 1 / 3
_SENTENCE_END = re.compile(r"[.!?…]['\"”’»)]*(?=\s)|[。！？]")
_HALF_ENTITY = re.compile(r"&[#\w]{0,10}\Z")


@dataclass(frozen=True, slots=True)
class LetterRoom:
    """Characters of post html, posts in full, media per post."""

    html: int
    posts: int = 50
    media: int = 10

    def towards(self, larger: "LetterRoom", part: float) -> "LetterRoom":
        html, posts = larger.html - self.html, larger.posts - self.posts
        return replace(self, html=self.html + int(html * part), posts=self.posts + int(posts * part))


# Tried in order until the letter fits. The first cuts nothing that could fit.
ROOMS = (
    LetterRoom(100_000),
    LetterRoom(60_000),
    LetterRoom(30_000),
    LetterRoom(10_000, media=3),
    LetterRoom(10_000, posts=25, media=2),
    LetterRoom(8_000, posts=10, media=1),
)
# For posts that are nowhere else.
UNCUT_ROOMS = ROOMS[:1]


def fair_share(sizes: Sequence[int], budget: int) -> int:
    """Return the size limit per post; long posts get what short ones leave."""
    left, share = budget, budget
    for number, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - number)
        if size > share:
            return share
        left -= size
    return max(sizes, default=share)


def shorten(html: str, size: int) -> str:
    """Cut balanced html to `size` characters, tags included, and close all elements.

    Cuts after a block, or, if that leaves little, after a sentence or word, with an ellipsis.
    """
    if len(html) <= size:
        return html
    walk = _Walk(html, size)
    block, inside = walk.after_block, walk.inside
    if inside is None or (block is not None and len(block) >= size * _LEAST):
        inside = block
    if inside is not None:
        return str(inside)
    # More leading tags than fit: take `size` characters of text, counted before escaping.
    return f"<p>{escape(Truncator(unescape(ANY_TAG.sub(' ', html))).chars(size))}</p>"


@dataclass(frozen=True, slots=True)
class _Cut:
    html: str
    position: int
    open_elements: tuple[str, ...]
    ellipsis: str = ""

    def __len__(self) -> int:
        return self.position

    def __str__(self) -> str:
        closing = "".join(f"</{name}>" for name in reversed(self.open_elements))
        return self.html[: self.position].rstrip() + self.ellipsis + closing


class _Walk:
    """Scan of the tags, recording the last possible cuts."""

    def __init__(self, html: str, size: int) -> None:
        self.after_block: _Cut | None = None
        self.inside: _Cut | None = None
        self._html, self._size = html, size
        self._open: list[str] = []
        position = 0
        for tag in TAG.finditer(html):
            self._text(position, tag.start())
            position = tag.end()
            if position > size:
                return
            name = tag["name"]
            if tag["end"]:
                if self._open and self._open[-1] == name:
                    self._open.pop()
                if name in _BLOCKS and tag.end() + self._closings() <= self._size:
                    self.after_block = self._cut(tag.end())
            elif name not in VOID:
                self._open.append(name)
            elif name == "br" and tag.start() + self._closings() <= self._size:
                self.after_block = self._cut(tag.start())
        self._text(position, len(html))

    def _closings(self) -> int:
        return sum(len(name) + len("</>") for name in self._open)

    def _text(self, start: int, end: int) -> None:
        """Cut after the last sentence that fits, else the last word, else anywhere."""
        most = max(start, min(end, self._size - self._closings() - len(" …")))
        if not self._html[start:most].strip():
            return
        if most == end:
            self.inside = self._cut(end, "…")
            return
        text = _HALF_ENTITY.sub("", self._html[start:most])
        sentence = max((match.end() for match in _SENTENCE_END.finditer(text)), default=0)
        if sentence * 2 >= len(text):
            self.inside = self._cut(start + sentence, " …")
        else:
            word = text.rstrip().rfind(" ")
            self.inside = self._cut(start + (word if word > 0 else len(text)), "…")

    def _cut(self, position: int, ellipsis: str = "") -> _Cut:
        return _Cut(self._html, position, tuple(self._open), ellipsis)
