import re
import unicodedata
from collections.abc import Iterable

# Excluded by XML 1.0 §2.2; PostgreSQL refuses NUL, UTF-8 lone surrogates.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
# They can disguise a title or name.
_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069]")
_DIGITS = re.compile("([0-9]+)")
# Thai to Lao, Burmese, Khmer, kana and Han.
WITHOUT_BLANKS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def without_controls(text: str) -> str:
    return _CONTROLS.sub("", text)


def one_line(text: str) -> str:
    """Also remove control characters and direction overrides."""
    if text.isprintable() and "  " not in text:
        return text.strip()
    return " ".join(_OVERRIDES.sub("", without_controls(" ".join(text.split()))).split())


class _Comparable(dict[int, str]):
    """Characters as they are compared, made when they are first needed."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character) == "Cf" or character in "\ufe0e\ufe0f":
            text = ""
        elif unicodedata.category(character) == "Pd" or character == "−":
            text = "-"
        else:
            text = unicodedata.normalize("NFKC", character).casefold()
        self[code] = text
        return text


_COMPARABLE = _Comparable(
    {ord(mark): "'" for mark in "’‘ʼ′‚‛‹›´`"} | {ord(mark): '"' for mark in "“”„‟«»″"} | {ord("İ"): "i"}
)


def comparable(text: str) -> str:
    """Fold what looks alike: case, widths, quotes, dashes and invisible characters, but not accents."""
    return unicodedata.normalize("NFC", text).translate(_COMPARABLE)


def comparable_length(character: str) -> int:
    return len(_COMPARABLE[ord(character)])


def folded(text: str) -> str:
    """Return lower case, without accents and compatibility forms."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", comparable(text))
    return "".join(char for char in plain if not unicodedata.combining(char)).casefold()


def shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def pluralize(count: int, word: str, plural: str = "") -> str:
    """Format as "1 post", "2 posts" or "3,000 posts"."""
    return f"{count:,} {word if count == 1 else plural or word + 's'}"


def joined(words: Iterable[str]) -> str:
    """Format as "Monday, Tuesday and Friday"; at least one word."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def text_width(text: str) -> int:
    """Return terminal columns: two for wide letters, none for combining marks."""
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def padded(text: str, width: int) -> str:
    return text + " " * (width - text_width(text))


def natural_order(text: str) -> tuple[str | tuple[int, str], ...]:
    """Return a sort key that puts "part 2" before "part 10"."""
    parts = _DIGITS.split(text.casefold())
    # Python refuses to parse very long integers.
    return tuple(
        (len(part.lstrip("0")), part.lstrip("0")) if number % 2 else part for number, part in enumerate(parts)
    )
