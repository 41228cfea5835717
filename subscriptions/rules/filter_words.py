import re
import shlex
from collections.abc import Iterable

from common import patterns
from common.refused import Refused
from common.text import comparable

MOST_WORDS, LONGEST_WORD = 50, 60
_SEPARATORS = re.compile(r"[\n,;]+")


class InvalidWords(Refused):
    """`reason` is "many", "long", "quote" or "star"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def read_words(typed: str) -> list[str]:
    """Parse words and quoted phrases. * means any letters. Raises InvalidWords."""
    text = _SEPARATORS.sub(" ", typed.translate(str.maketrans("“”„«»", '"""""')))
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.quotes, lexer.escape = True, "", '"', ""
    try:
        tokens = [" ".join(word.split()) for word in lexer]
    except ValueError:
        raise InvalidWords("quote") from None
    words = list(dict.fromkeys(word for word in tokens if word))
    if len(words) > MOST_WORDS:
        raise InvalidWords("many")
    for word in words:
        if len(word) > LONGEST_WORD:
            raise InvalidWords("long")
        if not word.replace("*", "").strip():
            raise InvalidWords("star")
    return words


def word_pattern(word: str) -> str:
    """Match whole words: “art” does not match “party”; “art*” matches “artist”."""
    inner = r"\w*".join(map(re.escape, word.split("*")))
    before = r"(?<!\w)" if word[0].isalnum() else ""
    after = r"(?!\w)" if word[-1].isalnum() else ""
    return f"(?i){before}{inner}{after}"


def found_in(words: Iterable[str], texts: Iterable[str]) -> bool:
    read, wanted = list(map(comparable, texts)), [word_pattern(comparable(word)) for word in words]
    return any(_is_in(text, pattern) for text in read for pattern in wanted)


def _is_in(text: str, pattern: str) -> bool:
    try:
        deadline = patterns.Deadline.within(patterns.USED_WITHIN)
        return patterns.is_found(patterns.MATCHES, pattern, text, deadline)
    except (patterns.OutOfTime, ValueError):
        return False


def word_of(pattern: str) -> str:
    """Undo `word_pattern`."""
    if not pattern.startswith("(?i)"):
        return pattern
    inner = pattern.removeprefix("(?i)").removeprefix(r"(?<!\w)").removesuffix(r"(?!\w)")
    return re.sub(r"\\(.)", r"\1", inner.replace(r"\w*", "*"))


def typed_words(words: list[str]) -> str:
    return " ".join(f'"{word}"' if " " in word else word for word in words)
