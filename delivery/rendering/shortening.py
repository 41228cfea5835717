"""Makes long posts fit a letter: Gmail hides what comes after 102 KB, the way to unsubscribe included."""

import re
from collections.abc import Sequence
from html import escape, unescape

from django.utils.text import Truncator

from common.balancing import balance

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
