"""The template engine of letters: its own tags, filters and folder, shared with no page."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template import Engine, Template, TemplateDoesNotExist, TemplateSyntaxError
from django.template.base import FilterExpression, Node
from django.template.loader_tags import ExtendsNode, IncludeNode

from delivery.rendering.fields import UnknownField, field_names
from delivery.rendering.holes import Holes
from delivery.rendering.inlining import inline
from delivery.rendering.library import FieldNode, LetterContext
from delivery.rendering.rendered import LetterError, UnknownTemplate

ISSUES = "issues"
MAILS = "mails"
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
        for field in _fields_of(f"{ISSUES}/{name}.{kind}"):
            if field.lower() not in fields:
                raise UnknownField(field, fields)


def known(folder: str, name: str) -> None:
    """Raises UnknownTemplate, with the names there are, unless the folder has that template."""
    names = _names(folder)
    if name not in names:
        raise UnknownTemplate(f"There is no letter template “{name}”. There are: {', '.join(names)}.")


def render(path: str, context: Mapping[str, Any], holes: Holes) -> tuple[str, str]:
    """The html, its styles inlined, and the text of `path`. Raises LetterError."""
    html = inline(_render(f"{path}.html", context, holes, autoescape=True))
    return html, _tidy(_render(f"{path}.txt", context, holes, autoescape=False))


def _render(name: str, context: Mapping[str, Any], holes: Holes, *, autoescape: bool) -> str:
    try:
        return str(_template(name).render(LetterContext(dict(context), holes=holes, autoescape=autoescape)))
    except (TemplateSyntaxError, TemplateDoesNotExist) as error:
        raise LetterError(f"The letter template {name} cannot be used: {error}.") from error


def _tidy(text: str) -> str:
    """No blanks at line ends, at most one empty line in a row: template tags leave both."""
    lines = re.sub(r"[ \t\r]+$", "", text, flags=re.MULTILINE)
    return re.sub(r"\n{3,}", "\n\n", lines).strip() + "\n"


def _names(folder: str) -> list[str]:
    files = Path(settings.LETTER_TEMPLATES_DIR) / folder
    return sorted(path.stem for path in files.glob("*.html") if path.with_suffix(".txt").is_file())


def _template(name: str) -> Template:
    engine = _engine(str(settings.LETTER_TEMPLATES_DIR), name.endswith(".html"))
    try:
        return engine.get_template(name)
    except (TemplateSyntaxError, TemplateDoesNotExist) as error:
        raise LetterError(f"The letter template {name} cannot be used: {error}.") from error


@lru_cache(maxsize=8)
def _engine(folder: str, autoescape: bool) -> LetterEngine:
    files = ("delivery.rendering.loader.LetterLoader", [folder])
    return LetterEngine(loaders=[("django.template.loaders.cached.Loader", [files])], autoescape=autoescape)


def _fields_of(name: str) -> Iterator[str]:
    """The fields of a template and of all it extends and includes."""
    waiting, seen = [name], {name}
    while waiting and len(seen) <= _MOST_TEMPLATES:
        nodes = _template(waiting.pop()).nodelist
        yield from (node.name for node in nodes.get_nodes_by_type(FieldNode) if isinstance(node, FieldNode))
        others = {
            _literal(node) for kind in (ExtendsNode, IncludeNode) for node in nodes.get_nodes_by_type(kind)
        }
        waiting.extend(others - seen)
        seen |= others


def _literal(node: Node) -> str:
    expression = node.parent_name if isinstance(node, ExtendsNode) else getattr(node, "template", None)
    if (
        isinstance(expression, FilterExpression)
        and isinstance(expression.var, str)
        and not expression.filters
    ):
        return str(expression.var)
    raise LetterError("A letter template can only extend and include templates named in quotes.")
