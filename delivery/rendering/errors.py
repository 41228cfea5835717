"""Rendered letters, and rendering errors that name template and line.

%Fields% that editors type: tokens, then placeholders in letters, or values in the archive. Pure.

The archive has no reader, so a reader's fields are dropped, with the space before them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape

from django.template import TemplateDoesNotExist, TemplateSyntaxError, VariableDoesNotExist
from django.template.base import Node

from channels.letter import LetterError
from channels.placeholders import FIELD, Placeholders

LONGEST_TEMPLATE_FAULT = 400
# Django messages that don't help authors.
_NO_TAG = re.compile(r"Invalid block tag on line \d+: '([^']*)'(, expected (.*?)\.)?.*", re.DOTALL)
_NO_FILTER = re.compile(r"Invalid filter: '([^']*)'")
_UNCLOSED = re.compile(r"Unclosed tag on line \d+: '([^']*)'\. Looking for one of: (.*?)\.")


@dataclass(frozen=True, slots=True)
class Rendered:
    """Form letter. `placeholders`: lower-case field → its token in subject, html and text."""

    title: str
    subject: str
    html: str
    text: str
    placeholders: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RenderedParts:
    """`html` has its styles inlined. `subject` is empty where the usual one is meant."""

    html: str
    text: str = ""
    subject: str = ""


class UnknownTemplate(LetterError):
    """The message lists the existing templates."""


class TooLong(BaseException):
    """A template took too long. Not an Exception, so the engine's `except` can't swallow it."""


_LIMITS: tuple[tuple[type[BaseException], str], ...] = (
    (RecursionError, "it is nested too deeply"),
    (MemoryError, "it needs too much memory"),
    (TooLong, "it takes longer than 2 seconds"),
)


class BrokenTemplate(LetterError):
    """The template cannot be used. `part`: html, text or subject; `line`: from 1, or 0 if unknown."""

    def __init__(self, name: str, reason: str, *, part: str = "", line: int = 0) -> None:
        self.name, self.reason, self.part, self.line = name, reason, part, line
        place = f"{part}, line {line}: " if part and line else f"{part}: " if part else ""
        super().__init__(f"The template {name} cannot be used: {place}{reason.rstrip('.')}.")


def broken(error: BaseException, name: str, part: str) -> BrokenTemplate:
    if isinstance(error, BrokenTemplate):
        return error
    return BrokenTemplate(name, _reason(error)[:LONGEST_TEMPLATE_FAULT], part=part, line=_line(error))


def _reason(error: BaseException) -> str:
    said = str(error)
    for sort, reason in _LIMITS:
        if isinstance(error, sort):
            return reason
    if isinstance(error, TemplateDoesNotExist):
        return f"there is no part “{said}” to extend or include"
    if isinstance(error, TemplateSyntaxError):
        if match := _NO_TAG.match(said):
            here = f", where {match[3]} was expected" if match[3] else ""
            return f"there is no tag “{match[1]}” here{here}"
        if match := _NO_FILTER.match(said):
            return f"there is no filter “{match[1]}”"
        if match := _UNCLOSED.match(said):
            return f"the tag “{match[1]}” is never closed; it needs {match[2]}"
        return said
    if isinstance(error, LetterError | VariableDoesNotExist):
        return said
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _line(error: BaseException) -> int:
    """Return the line that could not be read or was being rendered."""
    line = int(getattr(getattr(error, "token", None), "lineno", None) or 0)
    if line:
        return line
    # Innermost node of the custom source: that has no loader, while our parts come from files.
    trace = error.__traceback__
    while trace is not None:
        node = trace.tb_frame.f_locals.get("self")
        if isinstance(node, Node) and getattr(getattr(node, "origin", None), "loader", None) is None:
            line = getattr(getattr(node, "token", None), "lineno", 0) or line
        trace = trace.tb_next
    return line


class TypedFields:
    def __init__(self, params: Mapping[str, str]) -> None:
        self._params = params
        self._placeholders = Placeholders(params)

    def in_markdown(self, text: str) -> str:
        r"""Replace fields by tokens. Markdown turns `\%x%` into `%x%`. Raises UnknownField."""
        return FIELD.sub(lambda match: match[0] if match[1] else self._placeholders.token(match[2]), text)

    def in_subject(self, text: str) -> str:
        r"""Replace fields outside Markdown, and `\%x%` by `%x%`. Raises UnknownField."""
        return FIELD.sub(lambda match: match[0][1:] if match[1] else self._placeholders.token(match[2]), text)

    def as_links(self, html: str, *, base: str) -> str:
        """Restore links to fields, such as `[leave](%removeLink%)`, that were made absolute."""
        for token in self._placeholders.used.values():
            html = html.replace(f'"{base}{token}"', f'"{token}"')
        return html

    def as_placeholders(self, letter: Rendered) -> Rendered:
        """Turn tokens into placeholders, reusing the ones of its template."""
        for name, token in self._placeholders.used.items():
            at_cut = "|".join(re.escape(token[:end]) + "…" for end in range(len(token) - 1, 1, -1))
            hole = letter.placeholders.get(name, token)

            def written(text: str, token: str = token, hole: str = hole, at_cut: str = at_cut) -> str:
                # Excerpts may be cut within a token.
                return re.sub(at_cut, "…", text).replace(token, hole)

            letter = replace(
                letter,
                subject=written(letter.subject),
                html=written(letter.html),
                text=written(letter.text),
                placeholders={**letter.placeholders, name: hole},
            )
        return letter

    def for_nobody(self, text: str, shared: Mapping[str, str], *, is_html: bool) -> str:
        """Fill in the archive's values; `shared`, by lower-case name, apply to all readers."""
        values = {name.lower(): value for name, value in self._params.items()}
        values |= {name: value for name, value in shared.items() if value.strip()}
        for name, token in self._placeholders.used.items():
            value = values.get(name, "")
            if value:
                text = text.replace(token, escape(value) if is_html else value)
                continue
            text = re.sub(rf'<a href="{token}"[^>]*>(.*?)</a>', r"\1", text, flags=re.DOTALL)
            text = re.sub(rf"(^|>)\s*{token}[,;:]?\s*", r"\1", text)
            text = re.sub(rf"[,;:]?[ \t\u00a0]*{token}(?=\s*(?:$|<))", "", text)
            text = re.sub(rf"[ \t\u00a0]*{token}", "", text)
        return text
