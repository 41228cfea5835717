"""A term is words, or a regular expression: /a|b/, or /a|b/i to ignore case."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import regex

from common.patterns import MATCHES, Deadline, InvalidPattern, OutOfTime, check_pattern, is_found
from common.refused import Refused
from common.text import comparable, one_line
from reader.rules.jf2 import KINDS, texts_of

MOST_TERMS = 50
LONGEST_TERM = 200
# Seconds for all terms of a channel and one post.
ASKED_WITHIN = 0.2
MOST_LOOKED_AT = 20_000
_EXPRESSION = re.compile(r"/(.+)/(i?)", re.DOTALL)
# Scripts without spaces: a term matches anywhere.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


class InvalidFilter(Refused):
    """`field` is "kinds", "hide" or "keep", and `reason` "all", "many" or "long", or "" for others."""

    def __init__(self, message: str, field: str, reason: str = "") -> None:
        super().__init__(message, field)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Filters:
    """`keep` hides posts without any of its terms."""

    kinds: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    @classmethod
    def read(cls, stored: Mapping[str, Any] | None) -> "Filters":
        return cls(**{name: tuple(terms) for name, terms in (stored or {}).items()})

    @property
    def stored(self) -> dict[str, list[str]] | None:
        """Return JSON, or None if nothing is hidden."""
        if not (self.kinds or self.hide or self.keep):
            return None
        return {"kinds": list(self.kinds), "hide": list(self.hide), "keep": list(self.keep)}


@dataclass(frozen=True, slots=True)
class FilterVerdict:
    """The `field` and the kind or term that hides a post; `failed` terms took too long."""

    field: str = ""
    by: str = ""
    failed: tuple[str, ...] = ()


def checked_filters(*, kinds: Iterable[str], hide: Iterable[str], keep: Iterable[str]) -> Filters:
    """Raises InvalidFilter."""
    wanted = set(kinds)
    if unknown := wanted - set(KINDS):
        raise InvalidFilter(f"There is no kind of post called {', '.join(sorted(unknown))[:100]}.", "kinds")
    if wanted == set(KINDS):
        raise InvalidFilter("This hides all kinds of posts. Leave at least one.", "kinds", "all")
    shown = tuple(kind for kind in KINDS if kind in wanted)
    return Filters(shown, _checked_terms(hide, "hide"), _checked_terms(keep, "keep"))


def judged(filters: Filters, kind: str, fields: tuple[str, ...]) -> FilterVerdict:
    """Take fields of `looked_at`. A term that fails hides nothing."""
    if kind in filters.kinds:
        return FilterVerdict("kinds", kind)
    deadline = Deadline.within(ASKED_WITHIN)
    failed: list[str] = []
    for term in filters.hide:
        try:
            if _is_in(fields, term, deadline):
                return FilterVerdict("hide", term, tuple(failed))
        except (OutOfTime, InvalidPattern):
            failed.append(term)
    for term in filters.keep:
        try:
            if _is_in(fields, term, deadline):
                return FilterVerdict(failed=tuple(failed))
        except (OutOfTime, InvalidPattern):
            return FilterVerdict(failed=(*failed, term))
    return FilterVerdict("keep" if filters.keep else "", "", tuple(failed))


def _is_in(fields: tuple[str, ...], term: str, deadline: Deadline) -> bool:
    wanted, is_exact = expression(term), _EXPRESSION.fullmatch(term)
    return any(
        is_found(MATCHES, wanted, field if is_exact else comparable(field), deadline) for field in fields
    )


def looked_at(jf2: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields to search.

    Separately, so that /^ad:/ matches the title's start and words don't match across fields.
    """
    return tuple(text[:MOST_LOOKED_AT] for text in texts_of(jf2)) or ("",)


def expression(term: str) -> str:
    """Match whole words, in any case."""
    if match := _EXPRESSION.fullmatch(term):
        return f"(?i){match[1]}" if match[2] else match[1]
    term = comparable(term)
    words = r"\s+".join(regex.escape(word) for word in term.split())
    if not words:
        raise InvalidPattern("It has only invisible characters. Enter words.")
    if _UNSPACED.search(term):
        return f"(?i){words}"
    before = r"(?<!\w)" if re.match(r"\w", term) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", term) else ""
    return f"(?i){before}{words}{after}"


def _checked_terms(terms: Iterable[str], field: str) -> tuple[str, ...]:
    unique = tuple(dict.fromkeys(filter(None, map(one_line, terms))))
    if len(unique) > MOST_TERMS:
        raise InvalidFilter(f"Enter at most {MOST_TERMS} lines. You entered {len(unique):,}.", field, "many")
    for term in unique:
        if len(term) > LONGEST_TERM:
            message = f"A line can have at most {LONGEST_TERM} characters. This one is longer: {term[:50]}…"
            raise InvalidFilter(message, field, "long")
        try:
            check_pattern(MATCHES, expression(term))
        except InvalidPattern as error:
            raise InvalidFilter(f"{term}: {error}", field) from error
    return unique
