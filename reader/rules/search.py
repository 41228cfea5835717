"""A post is stored as words between blanks: `LIKE` finds phrases on every database, full-text indexes
find words. A border keeps phrases from matching across fields.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from common.text import WITHOUT_BLANKS, folded

MOST_TERMS, MOST_WORDS = 10, 20
LONGEST_WORD = 40
# Shorter words match only whole: half of all words begin with "a" or "th".
SHORTEST_BEGINNING = 3
# Databases index it as a word.
BORDER = "0border0"
_WORD = re.compile(rf"[{WITHOUT_BLANKS}]|(?:(?![{WITHOUT_BLANKS}])[^\W_])+")
_QUOTES = '"“”„«»'
_TERM = re.compile(
    rf"(?<!\S)(-?)(?:[{_QUOTES}]([^{_QUOTES}]*)[{_QUOTES}]?|([^\s{_QUOTES}]+))|([^\s{_QUOTES}]+)"
)


def words_of(text: str) -> Iterator[str]:
    """Yield lower case without accents; single characters in scripts without blanks."""
    for match in _WORD.finditer(folded(text)):
        yield match.group()[:LONGEST_WORD]


def searched_line(fields: Iterable[str], most: int) -> str:
    line = [word for field in fields for word in (BORDER, *words_of(field[:most]))][1:]
    text = f" {' '.join(line)} "
    return text if len(text) <= most else f"{text[:most].rpartition(' ')[0]} "


@dataclass(frozen=True, slots=True)
class Term:
    """Adjacent words. `is_open`: the last is a prefix."""

    words: tuple[str, ...]
    is_open: bool = False

    @property
    def part(self) -> str:
        """Return text to find in stored lines."""
        return f" {' '.join(self.words)}" + ("" if self.is_open else " ")

    @property
    def fts5(self) -> str:
        return f'"{" ".join(self.words)}"' + ("*" if self.is_open else "")

    @property
    def tsquery(self) -> str:
        """Ignore order, which PostgreSQL would check by parsing each text again."""
        return " & ".join(f"'{word}'" for word in self.words) + (":*" if self.is_open else "")


@dataclass(frozen=True, slots=True)
class Query:
    wanted: tuple[Term, ...]
    unwanted: tuple[Term, ...] = ()

    @property
    def fts5(self) -> str:
        return " AND ".join(term.fts5 for term in self.wanted)

    @property
    def tsquery(self) -> str:
        return " & ".join(term.tsquery for term in self.wanted)


def parse_query(text: str) -> Query:
    """Parse words, "phrases" and -exclusions, ignoring terms without letters or digits."""
    wanted: dict[Term, None] = {}
    unwanted: dict[Term, None] = {}
    for minus, phrase, word, rest in _TERM.findall(text):
        words = tuple(words_of(phrase or word or rest))[:MOST_WORDS]
        if words and len(wanted) + len(unwanted) < MOST_TERMS:
            term = Term(words, is_open=not phrase and _may_go_on(words[-1]))
            (unwanted if minus else wanted)[term] = None
    return Query(tuple(wanted), tuple(unwanted))


def _may_go_on(word: str) -> bool:
    return len(word) >= SHORTEST_BEGINNING and not re.match(f"[{WITHOUT_BLANKS}]", word)
