"""The template engine of letters: its own tags, filters and folder, shared with no page.

Templates of files are rendered here; what an admin wrote is rendered in a sandbox, by `own`.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template import Engine, Template, TemplateDoesNotExist, TemplateSyntaxError
from django.template.base import FilterExpression, Node
from django.template.loader_tags import ExtendsNode, IncludeNode

from delivery.rendering import sandbox
from delivery.rendering.drawn import Drawn
from delivery.rendering.fields import UnknownField, field_names
from delivery.rendering.holes import Holes
from delivery.rendering.inlining import inline
from delivery.rendering.library import FieldNode, LetterContext
from delivery.rendering.rendered import LetterError, UnknownTemplate
from delivery.rendering.sources import Source

ISSUES = "issues"
MAILS = "mails"
PAGES = "pages"
_MOST_TEMPLATES = 100  # that one letter may be put together from


class LetterEngine(Engine):
    """Knows the tags and filters of `library` and no others."""

    default_builtins = ["delivery.rendering.library"]  # noqa: RUF012 (as Engine declares it)


def letter_templates() -> list[str]:
    """The names a newsletter may choose from: what has an html and a text in templates/letters/issues/."""
    return _names(ISSUES)


def check_template(name: str, params: Mapping[str, str]) -> None:
    """Raises LetterError if a newsletter with these extra parameters cannot use that template.

    UnknownTemplate: there is none of that name. UnknownField: it has a field that there is not.
    """
    known(ISSUES, name)
    fields = field_names(params)
    for kind in ("html", "txt"):
        for node in fields_of(_template(f"{ISSUES}/{name}.{kind}")):
            if node.name.lower() not in fields:
                raise UnknownField(node.name, fields)


def known(folder: str, name: str) -> None:
    """Raises UnknownTemplate, with the names there are, unless the folder has that template."""
    names = _names(folder)
    if name not in names:
        raise UnknownTemplate(f"There is no letter template “{name}”. There are: {', '.join(names)}.")


def render(path: str, context: Mapping[str, Any], holes: Holes, own: Source | None = None) -> Drawn:
    """The html of `path`, its styles inlined, and its text; or what the admin's own source makes of it.

    The subject is empty unless the admin's own source has one. Raises LetterError.
    """
    if own is not None:
        return sandbox.render(path, own, context, holes)
    html = _render(f"{path}.html", context, holes, autoescape=True)
    if path.startswith(f"{PAGES}/"):
        return Drawn(html=html)
    return Drawn(html=inline(html), text=usual_text(path, context, holes))


def usual_text(path: str, context: Mapping[str, Any], holes: Holes) -> str:
    """The text that our own file makes. Raises LetterError."""
    return tidy(_render(f"{path}.txt", context, holes, autoescape=False))


def usual_source(path: str) -> Source:
    """The files of a template, as they are; a page has no text. Raises UnknownTemplate."""
    folder, _, name = path.partition("/")
    known(folder, name)
    file = Path(settings.LETTER_TEMPLATES_DIR) / f"{path}.html"
    text = file.with_suffix(".txt")
    return Source(
        html=file.read_text(encoding="utf-8"),
        text=text.read_text(encoding="utf-8") if text.is_file() else "",
    )


def _render(name: str, context: Mapping[str, Any], holes: Holes, *, autoescape: bool) -> str:
    try:
        return str(_template(name).render(LetterContext(dict(context), holes=holes, autoescape=autoescape)))
    except (TemplateSyntaxError, TemplateDoesNotExist) as error:
        raise LetterError(f"The letter template {name} cannot be used: {error}.") from error


def tidy(text: str) -> str:
    """No blanks at line ends, at most one empty line in a row: template tags leave both."""
    lines = "\n".join(line.rstrip(" \t\r") for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip() + "\n"


def _names(folder: str) -> list[str]:
    files = Path(settings.LETTER_TEMPLATES_DIR) / folder
    pages = folder == PAGES
    return sorted(path.stem for path in files.glob("*.html") if pages or path.with_suffix(".txt").is_file())


def _template(name: str) -> Template:
    try:
        return engine_here(autoescape=name.endswith(".html")).get_template(name)
    except (TemplateSyntaxError, TemplateDoesNotExist) as error:
        raise LetterError(f"The letter template {name} cannot be used: {error}.") from error


def engine_here(*, autoescape: bool) -> LetterEngine:
    """The engine of the folder that the settings name."""
    return _engine(str(settings.LETTER_TEMPLATES_DIR), autoescape)


@lru_cache(maxsize=8)
def _engine(folder: str, autoescape: bool) -> LetterEngine:
    files = ("delivery.rendering.loader.LetterLoader", [folder])
    return LetterEngine(loaders=[("delivery.rendering.loader.KeptLoader", [files])], autoescape=autoescape)


def fields_of(template: Template) -> Iterator[FieldNode]:
    """The fields of a template and of all it extends and includes."""
    waiting, seen = [template], {template.name}
    while waiting and len(seen) <= _MOST_TEMPLATES:
        nodes = waiting.pop().nodelist
        yield from (node for node in nodes.get_nodes_by_type(FieldNode) if isinstance(node, FieldNode))
        others = {
            _literal(node) for kind in (ExtendsNode, IncludeNode) for node in nodes.get_nodes_by_type(kind)
        }
        waiting.extend(_template(name) for name in others - seen)
        seen |= others


def _literal(node: Node) -> str:
    expression = node.parent_name if isinstance(node, ExtendsNode) else getattr(node, "template", None)
    if (
        isinstance(expression, FilterExpression)
        and isinstance(expression.var, str)
        and not expression.filters
    ):
        return str(expression.var)
    error = LetterError("A letter template can only extend and include templates named in quotes.")
    error.token = node.token  # type: ignore[attr-defined]
    raise error
