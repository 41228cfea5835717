"""Words as they are searched for: whatever their case and accents, from their beginning on.

What is searched is a line of words with a blank before each. A word is found by the beginning of it; in
scripts that put no blanks between words, anywhere.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

LONGEST_WORD = 40
MOST_ASKED = 8
_WORD = re.compile(r"[^\W_]+")
# Thai to Lao, Burmese, Khmer, kana and Han.
_WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def words_in(text: str) -> Iterator[str]:
    """Its words in small letters without accents, at most 40 characters of each."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    folded = "".join(character for character in plain if not unicodedata.combining(character))
    return (word[:LONGEST_WORD] for word in _WORD.findall(folded))


def searchable(texts: Iterable[str], *, most: int) -> str:
    """Each word of the texts once, in their order, as far as `most` characters go."""
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
    """What all have to stand in the searchable words of what is looked for; eight at most."""
    found = list(dict.fromkeys(words_in(text)))[:MOST_ASKED]
    return tuple(word if _WITHOUT_BLANKS.search(word) else f" {word}" for word in found)
