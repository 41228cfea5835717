"""Makes long posts fit a letter: Gmail hides what comes after 102 KB, the way to unsubscribe included."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape

from django.utils.text import Truncator

from common.balancing import balance


@dataclass(frozen=True, slots=True)
class Room:
    """What a letter has room for: characters of the posts' own html, posts in full, media of each."""

    html: int
    posts: int = 50
    media: int = 10


# Tried in this order until the letter fits.
ROOMS = (
    Room(60_000),
    Room(30_000),
    Room(10_000, media=3),
    Room(10_000, posts=25, media=2),
    Room(8_000, posts=10, media=1),
)
# For a letter with posts that stand nowhere else: they are not cut.
WHOLE = ROOMS[:1]

_TAG = re.compile(r"<[^<>]*>")


def fair_share(sizes: Sequence[int], budget: int) -> int:
    """The size no post may exceed so that all together fit; what small posts leave, long ones get."""
    left, share = budget, budget
    for number, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - number)
        if size > share:
            return share
        left -= size
    return max(sizes, default=share)


def shorten(html: str, size: int) -> str:
    """The beginning of the html, about `size` characters with its tags, which are all closed."""
    if len(html) <= size:
        return html
    letters = len(_TAG.sub("", html))
    wanted = letters * size // len(html)
    cut = balance(Truncator(html).chars(wanted, html=True)) if wanted > 1 else ""
    return cut if len(cut) <= 2 * size else f"<p>{escape(_only_text(html, size))}</p>"


def _only_text(html: str, size: int) -> str:
    """For html that is nearly all tags, such as a thousand images."""
    return Truncator(unescape(_TAG.sub(" ", html))).chars(size)
