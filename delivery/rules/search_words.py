"""Words for searching, without case and accents.

Each word follows a blank. Words match by their beginning; in scripts without blanks, anywhere.
"""

import re
from collections.abc import Iterable, Iterator

from common.text import WITHOUT_BLANKS, folded

LONGEST_WORD = 40
MOST_ASKED = 8
_WORD = re.compile(r"[^\W_]+")
_WITHOUT_BLANKS = re.compile(f"[{WITHOUT_BLANKS}]")


def words_in(text: str) -> Iterator[str]:
    return (word[:LONGEST_WORD] for word in _WORD.findall(folded(text)))


def searchable(texts: Iterable[str], *, most: int) -> str:
    """Return each word once, within `most` characters."""
    seen: dict[str, None] = {}
    room = most
    for text in texts:
        for word in words_in(text):
            if word not in seen:
                room -= len(word) + 1
                if room < 0:
                    return "".join(f" {each}" for each in seen)
                seen[word] = None
    return "".join(f" {each}" for each in seen)


def asked_words(text: str) -> tuple[str, ...]:
    """Return up to eight texts that must all occur."""
    found = list(dict.fromkeys(words_in(text)))[:MOST_ASKED]
    return tuple(word if _WITHOUT_BLANKS.search(word) else f" {word}" for word in found)
