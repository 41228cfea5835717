"""Rendered letters, and rendering errors that name template and line."""

import re
from dataclasses import dataclass, field

from django.template import TemplateDoesNotExist, TemplateSyntaxError, VariableDoesNotExist
from django.template.base import Node

from channels.letter import LetterError

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
