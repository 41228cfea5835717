"""Renders custom templates. Only for the sandbox: they may never end."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from django.template import Origin, Template

from channels.letter import LetterError
from channels.placeholders import Placeholders, UnknownField
from common.text import one_line, shortened
from delivery.rendering import engine
from delivery.rendering.engine import StrictTemplate, inline, with_placeholders
from delivery.rendering.errors import RenderedParts, TooLong, broken
from delivery.rendering.facts import TemplateSource
from delivery.rendering.library import LetterContext
from delivery.rendering.subjects import LONGEST_SUBJECT

TEMPLATE_PARTS = ("subject", "html", "text")
MOST_OUTPUT = 5_000_000


def draw(
    path: str, own: TemplateSource, context: Mapping[str, Any], placeholders: Placeholders
) -> RenderedParts:
    """Render, with the default text if there is none. Raises BrokenTemplate."""
    if path.startswith(f"{engine.PAGE_FOLDER}/"):
        return RenderedParts(html=_part(path, "html", own.html, context, placeholders))
    subject = (
        one_line(_part(path, "subject", own.subject, context, placeholders)) if own.subject.strip() else ""
    )
    html = inline(_part(path, "html", own.html, context, placeholders))
    text = _part(path, "text", own.text, context, placeholders) if own.text.strip() else None
    return RenderedParts(
        subject=shortened_around(subject, placeholders.used.values()),
        html=_bounded(path, "html", html),
        text=engine.usual_text(path, context, placeholders) if text is None else engine.tidy(text),
    )


def shortened_around(subject: str, tokens: Iterable[str]) -> str:
    """At most 200 characters besides the holes. No hole is cut, because its value comes later."""
    placeholders = "|".join(map(re.escape, tokens))
    pieces = re.split(f"({placeholders})", subject) if placeholders else [subject]
    room, kept = LONGEST_SUBJECT, []
    for number, piece in enumerate(pieces):
        if number % 2:
            kept.append(piece)
        elif room > 0:
            kept.append(shortened(piece, room) if len(piece) > room else piece)
            room -= len(piece)
    return "".join(kept)


def check_source_fields(path: str, own: TemplateSource, fields: Mapping[str, str]) -> None:
    """Raise BrokenTemplate for an unknown field, also in parts that rendering would skip."""
    for part in TEMPLATE_PARTS:
        try:
            for node in engine.fields_of(_template(path, part, getattr(own, part))):
                if node.name.lower() in fields:
                    continue
                if fields:
                    unknown: LetterError = UnknownField(node.name, fields)
                else:
                    said = f"There is no %{node.name}% here: a page is the same for everyone."
                    unknown = LetterError(said)
                unknown.token = node.token  # type: ignore[attr-defined]
                raise unknown
        except (Exception, TooLong) as error:
            raise broken(error, path, part) from error


def _part(path: str, part: str, source: str, context: Mapping[str, Any], placeholders: Placeholders) -> str:
    try:
        template = _template(path, part, source)
        values = LetterContext(dict(context), placeholders=placeholders, autoescape=part == "html")
        return _bounded(path, part, str(template.render(values)))
    except (Exception, TooLong) as error:
        raise broken(error, path, part) from error


def _template(path: str, part: str, source: str) -> Template:
    origin = Origin(name=f"{path} ({part})")
    return StrictTemplate(
        with_placeholders(source), origin, path, engine.engine_here(autoescape=part == "html")
    )


def _bounded(path: str, part: str, made: str) -> str:
    if len(made) > MOST_OUTPUT:
        raise broken(LetterError(f"it makes more than {MOST_OUTPUT:,} characters"), path, part)
    return made
