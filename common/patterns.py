r"""Regular expressions that users type, run within deadlines.

RE2 would not do: its \b, \w and \d know ASCII only, and it cannot be stopped. On a post of 500 kB
`(a?){1000}a{1000}b` takes it 41 s.
"""

import time
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import regex

from common.refused import Refused
from common.text import comparable, comparable_length

CONTAINS, EQUALS, MATCHES = "contains", "equals", "matches"
# Seconds per post; in use, machines may be busy.
SAVED_WITHIN, USED_WITHIN = 0.05, 0.1
# Compiling writes repetitions out.
MOST_WRITTEN_OUT = 50_000
MOST_PROBES = 12
# The clock is only checked between steps, and one step may match a character class against the whole text.
# Characters in brackets times characters of the text, 10 ns each.
MOST_IN_A_STEP = 10_000_000

_REPEATS = regex.compile(r"\{\s*(\d*)\s*(?:,\s*(\d*)\s*)?\}")
_GROUP = regex.compile(r"\\(\\|[0-9])")
_BLANKS = regex.compile(r"\s+")
_CLASSES = regex.compile(r"\\.|(\[\^?\]?(?:\\.|[^\]\\])*)", regex.DOTALL)


class InvalidPattern(Refused):
    pass


class OutOfTime(Exception):
    pass


@dataclass(frozen=True, slots=True)
class Deadline:
    """`at` is on the monotonic clock."""

    at: float

    @classmethod
    def within(cls, seconds: float) -> "Deadline":
        return cls(time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """Seconds. Raises OutOfTime if none are left."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise OutOfTime
        return left


@lru_cache(maxsize=128)
def compiled(test: str, pattern: str) -> Any:
    """Words match across lines, in a `comparable` text. Raises InvalidPattern."""
    if test != MATCHES:
        words = r"\s+".join(regex.escape(word) for word in _BLANKS.split(comparable(pattern)) if word)
        if not words:
            raise InvalidPattern("It has only invisible characters. Enter words.")
        return regex.compile(rf"\A\s*{words}\s*\Z" if test == EQUALS else words)
    pattern = composed(pattern)
    size = len(pattern)
    for bounds in _REPEATS.findall(pattern):
        size *= max([int(bound[:9]) for bound in bounds if bound] or [1]) or 1
        if size > MOST_WRITTEN_OUT:
            raise InvalidPattern(
                "Its repetitions, multiplied, are too many. Use smaller numbers, or + and *."
            )
    try:
        return regex.compile(pattern, cache_pattern=False)
    except (regex.error, RecursionError, OverflowError, MemoryError, ValueError, IndexError) as error:
        raise InvalidPattern(f"It is no regular expression: {error}.") from error


def composed(text: str) -> str:
    """Use NFC, so that accents have one spelling."""
    return unicodedata.normalize("NFC", text)


def is_found(test: str, pattern: str, text: str, deadline: Deadline) -> bool:
    """Raises InvalidPattern and OutOfTime."""
    _refuse_long_steps(test, pattern, text)
    try:
        prepared = composed(text) if test == MATCHES else comparable(text)
        return compiled(test, pattern).search(prepared, timeout=deadline.left) is not None
    except TimeoutError as error:
        raise OutOfTime from error


def replaced(test: str, pattern: str, replacement: str, text: str, deadline: Deadline, *, room: int) -> str:
    r"""Replace all matches; \1 is the first group.

    Raises InvalidPattern, OutOfTime, and ValueError if the result exceeds `room` characters.
    """
    given, text = text, composed(text)
    _refuse_long_steps(test, pattern, text)
    pieces, at, size = [], 0, 0
    expression = compiled(test, pattern)
    searched = text if test == MATCHES else comparable(text)
    places: list[int] = []
    try:
        for match in expression.finditer(searched, timeout=deadline.left):
            start, end = match.span()
            if end == start:
                continue
            if searched is not text:
                # By character: where its comparable form ends.
                places = places or list(accumulate(map(comparable_length, text)))
                start, end = bisect_right(places, start), bisect_left(places, end) + 1
            by = _filled(replacement, match) if test == MATCHES else replacement
            pieces += [text[at:start], by]
            at = end
            size += len(pieces[-1]) + len(pieces[-2])
            if size > room:
                raise ValueError(f"It makes the post longer than {room:,} characters.")
    except TimeoutError as error:
        raise OutOfTime from error
    return "".join([*pieces, text[at:]]) if pieces else given


def check_pattern(test: str, pattern: str, replacement: str = "") -> None:
    """Raise InvalidPattern if the pattern is invalid, slow, or lacks a group of the replacement."""
    expression = compiled(test, pattern)
    if test != MATCHES:
        return
    groups = [int(name) for name in _GROUP.findall(replacement) if name != "\\"]
    if groups and max(groups) > expression.groups:
        raise InvalidPattern(f"The replacement has \\{max(groups)}, but the pattern has no such group.")
    # Catastrophic patterns backtrack on many of a character followed by another.
    letters = dict.fromkeys(char for char in pattern if char.isalnum() or char in " -_.,")
    for char in [*dict.fromkeys("a1 "), *letters][:MOST_PROBES]:
        refuse_slow_pattern(pattern, char * 500 + "\0")


def refuse_slow_pattern(pattern: str, text: str) -> None:
    try:
        is_found(MATCHES, pattern, text, Deadline.within(SAVED_WITHIN))
    except OutOfTime as error:
        raise InvalidPattern(
            "It can take too long. Perhaps it repeats a repetition, as in (a+)+. Make it simpler."
        ) from error


def _refuse_long_steps(test: str, pattern: str, text: str) -> None:
    """Refuse searches that may run too long between two checks of the clock."""
    if test == MATCHES and sum(map(len, _CLASSES.findall(pattern))) * len(text) > MOST_IN_A_STEP:
        raise OutOfTime


def _filled(replacement: str, match: Any) -> str:
    def of_group(reference: Any) -> str:
        name = str(reference.group(1))
        if name == "\\":
            return name
        return str(match.group(int(name)) or "") if int(name) <= match.re.groups else ""

    return str(_GROUP.sub(of_group, replacement))
