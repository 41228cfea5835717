"""Cleans texts of characters that no database, header or page should see; shortens and measures them."""

import re
import unicodedata
from collections.abc import Iterable

# XML 1.0 §2.2 leaves out these; PostgreSQL refuses NUL, UTF-8 knows no lone surrogates.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
# Overrides of the writing direction let a title or name look like another one.
_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069]")
_DIGITS = re.compile("([0-9]+)")
# Characters of scripts that put no blanks between words: Thai to Lao, Burmese, Khmer, kana and Han.
WITHOUT_BLANKS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"


def words(text: str) -> frozenset[str]:
    """The words of a text, for lists that read better as a line."""
    return frozenset(text.split())


def without_controls(text: str) -> str:
    """The text without control characters; tabs and line ends stay."""
    return _CONTROLS.sub("", text)


def one_line(text: str) -> str:
    """The text in one line: no control characters, every run of white space one space."""
    return " ".join(_OVERRIDES.sub("", without_controls(" ".join(text.split()))).split())


def folded(text: str) -> str:
    """Return the text for comparing: small letters without accents, compatibility forms as plain ones."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in plain if not unicodedata.combining(char)).casefold()


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters, the last one an ellipsis when something was cut."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def pluralize(count: int, word: str, plural: str = "") -> str:
    """ "1 post", "2 posts", "3,000 posts"."""
    return f"{count:,} {word if count == 1 else plural or word + 's'}"


def joined(words: Iterable[str]) -> str:
    """ "Monday, Tuesday and Friday"; at least one word."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def text_width(text: str) -> int:
    """How many places of a terminal a text takes: wide letters two, marks that join another letter none."""
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def padded(text: str, width: int) -> str:
    """The text with blanks after it, so that it takes `width` places of a terminal."""
    return text + " " * (width - text_width(text))


def natural_order(text: str) -> tuple[str | tuple[int, str], ...]:
    """Return a sort key by which numbers in a text count as numbers: "part 2" before "part 10"."""
    parts = _DIGITS.split(text.casefold())
    # Every second part is a number. (Not made an int: Python refuses very long ones.)
    return tuple(
        (len(part.lstrip("0")), part.lstrip("0")) if number % 2 else part for number, part in enumerate(parts)
    )
