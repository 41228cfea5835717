"""What a channel hides by itself: kinds of posts, words and patterns. Pure.

A term is words, or between slashes a regular expression: /a|b/, and /a|b/i in any case.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import regex

from common.patterns import MATCHES, Deadline, InvalidPattern, OutOfTime, check_pattern, is_found
from common.refused import Refused
from common.text import one_line
from reader.rules.kinds import KINDS

MOST_TERMS = 50
LONGEST_TERM = 200
# Seconds that all terms of a channel together may take for a post.
ASKED_WITHIN = 0.2
MOST_LOOKED_AT = 20_000
_EXPRESSION = re.compile(r"/(.+)/(i?)", re.DOTALL)
# Of scripts that write words without spaces between them, a word is found anywhere.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


class InvalidFilter(Refused):
    """A filter that could not work; the message names the term. `field` is "kinds", "hide" or "keep"."""


@dataclass(frozen=True, slots=True)
class Filters:
    """A post is hidden if its kind is in `kinds`, if it has a term of `hide`, or, where there are terms to
    `keep`, none of these.
    """

    kinds: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    @classmethod
    def read(cls, stored: Mapping[str, Any] | None) -> "Filters":
        """As `stored` wrote them."""
        return cls(**{name: tuple(terms) for name, terms in (stored or {}).items()})

    @property
    def stored(self) -> dict[str, list[str]] | None:
        """For the database; None: nothing is hidden."""
        if not (self.kinds or self.hide or self.keep):
            return None
        return {"kinds": list(self.kinds), "hide": list(self.hide), "keep": list(self.keep)}


@dataclass(frozen=True, slots=True)
class FilterVerdict:
    """`field` is what hides the post ("kinds", "hide" or "keep"; "" if nothing does), `by` the kind or term.

    `failed` are the terms that took too long for it. They hide nothing.
    """

    field: str = ""
    by: str = ""
    failed: tuple[str, ...] = ()


def checked_filters(*, kinds: Iterable[str], hide: Iterable[str], keep: Iterable[str]) -> Filters:
    """Raises InvalidFilter for what could not work, or could take too long."""
    wanted = set(kinds)
    if unknown := wanted - set(KINDS):
        raise InvalidFilter(f"There is no kind of post called {', '.join(sorted(unknown))[:100]}.", "kinds")
    if wanted == set(KINDS):
        raise InvalidFilter("That hides all kinds of posts. Leave one of them.", "kinds")
    shown = tuple(kind for kind in KINDS if kind in wanted)
    return Filters(shown, _checked_terms(hide, "hide"), _checked_terms(keep, "keep"))


def judged(filters: Filters, kind: str, fields: tuple[str, ...]) -> FilterVerdict:
    """Judge whether a post with these fields (see `looked_at`) is hidden. A term that fails hides nothing."""
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
    """Raises OutOfTime and InvalidPattern."""
    wanted = expression(term)
    return any(is_found(MATCHES, wanted, field, deadline) for field in fields)


def looked_at(jf2: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields that terms are looked for in: title, author, each category, summary and text.

    Each by itself, so that /^ad:/ is about the beginning of the title and words don't match across fields.
    """
    author, content = jf2.get("author") or {}, jf2.get("content") or {}
    parts = (
        jf2.get("name"),
        author.get("name"),
        *jf2.get("category", ()),
        jf2.get("summary"),
        content.get("text"),
    )
    return tuple(str(part)[:MOST_LOOKED_AT] for part in parts if part) or ("",)


def expression(term: str) -> str:
    """The regular expression that a term stands for. Words are found in any case, and whole."""
    if match := _EXPRESSION.fullmatch(term):
        return f"(?i){match[1]}" if match[2] else match[1]
    words = r"\s+".join(regex.escape(word) for word in term.split())
    if _UNSPACED.search(term):
        return f"(?i){words}"
    before = r"(?<!\w)" if re.match(r"\w", term) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", term) else ""
    return f"(?i){before}{words}{after}"


def _checked_terms(terms: Iterable[str], field: str) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(filter(None, map(one_line, terms))))
    if len(found) > MOST_TERMS:
        raise InvalidFilter(f"Give at most {MOST_TERMS} lines. These are {len(found):,}.", field)
    for term in found:
        if len(term) > LONGEST_TERM:
            raise InvalidFilter(
                f"A line may have {LONGEST_TERM} characters. This one is longer: {term[:50]}…", field
            )
        try:
            check_pattern(MATCHES, expression(term))
        except InvalidPattern as error:
            raise InvalidFilter(f"{term}: {error}", field) from error
    return found
