"""Template engine of letters, with its own tags, filters, loader and folder.

Custom templates run in a sandbox. Django's lookup calls any callable, and `forloop` or `block` lead to the
engine itself. So names here lead only into mappings, lists, strings and dataclasses. Styles are inlined
because several mail programs drop `<style>`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import css_inline
from django.conf import settings
from django.template import (
    Engine,
    Origin,
    Template,
    TemplateDoesNotExist,
    TemplateSyntaxError,
    VariableDoesNotExist,
)
from django.template.base import FilterExpression, Lexer, NodeList, Parser, Variable, tag_re
from django.template.context import BaseContext
from django.template.loader_tags import BlockNode, ExtendsNode, IncludeNode
from django.template.loaders import cached
from django.template.loaders.base import Loader as BaseLoader
from django.template.loaders.filesystem import Loader

from channels.letter import LetterError
from channels.placeholders import FIELD, Placeholders, UnknownField, field_names
from common.html.plain_text import wrapped
from delivery.rendering.errors import RenderedParts, UnknownTemplate
from delivery.rendering.facts import TemplateSource
from delivery.rendering.library import FieldNode, LetterContext
from delivery.rendering.sandbox import client

# Names open to templates, by class.
_OPEN: dict[type, frozenset[str]] = {}
_NAME = re.compile(r"([a-z0-9_-]{1,64}/)?[a-z0-9_-]{1,64}\.(html|txt|css)", re.ASCII)
_CODE = re.compile("[> ]*    ")
ISSUE_FOLDER = "issues"
MAIL_FOLDER = "mails"
PAGE_FOLDER = "pages"
_MOST_TEMPLATES = 100  # per letter
_INLINER = css_inline.CSSInliner(load_remote_stylesheets=False)


class StrictVariable(Variable):
    def _resolve_lookup(self, context: Any) -> Any:
        current = context
        for step in self.lookups or ():
            current = _step(current, step)
        # `block` alone renders as nothing, unlike `block.super`.
        return "" if isinstance(current, BlockNode) else current


class StrictExpression(FilterExpression):
    def __init__(self, token: str, parser: Parser) -> None:
        super().__init__(token, parser)
        self.var = _strict(self.var)
        self.filters = [
            (filter_, [(is_name, _strict(value)) for is_name, value in arguments])
            for filter_, arguments in self.filters
        ]


class StrictParser(Parser):
    def compile_filter(self, token: str) -> StrictExpression:
        return StrictExpression(token, self)


class StrictTemplate(Template):
    def compile_nodelist(self) -> NodeList:
        tokens = Lexer(self.source).tokenize()
        engine = self.engine
        parser = StrictParser(tokens, engine.template_libraries, engine.template_builtins, self.origin)
        nodes: NodeList = parser.parse()
        self.extra_data = parser.extra_data
        return nodes


def _strict(value: Any) -> Any:
    return StrictVariable(value.var) if isinstance(value, Variable) else value


def _step(current: Any, name: str) -> Any:
    try:
        if isinstance(current, (BaseContext, Mapping)):
            return current[name]
        if isinstance(current, (str, tuple, list)):
            return current[int(name)]
    except (KeyError, IndexError, ValueError):
        raise VariableDoesNotExist("There is no %s in %r.", (name, type(current).__name__)) from None
    if isinstance(current, BlockNode) and name == "super":
        return current.super()
    # Only fields and properties of dataclasses are open.
    sort = type(current)
    if sort not in _OPEN:
        names = set()
        if is_dataclass(sort):
            properties = {each for each in dir(sort) if isinstance(getattr(sort, each, None), property)}
            names = {field.name for field in fields(sort)} | properties
        _OPEN[sort] = frozenset(each for each in names if not each.startswith("_"))
    if name in _OPEN[sort]:
        return getattr(current, name)
    raise VariableDoesNotExist("There is no %s in %r.", (name, type(current).__name__))


class LetterLoader(Loader):
    """Loader for one folder and its subfolders."""

    def get_contents(self, origin: Origin) -> str:
        if not _NAME.fullmatch(str(origin.template_name)):
            raise TemplateDoesNotExist(str(origin.template_name))
        return with_placeholders(super().get_contents(origin))


class _StrictLoader(BaseLoader):
    def get_template(self, template_name: str, skip: Iterable[Origin] | None = None) -> Template:
        for origin in self.get_template_sources(template_name):
            if skip is None or origin not in skip:
                return StrictTemplate(self.get_contents(origin), origin, template_name, self.engine)  # type: ignore[attr-defined]
        raise TemplateDoesNotExist(template_name)


class KeptLoader(cached.Loader, _StrictLoader):
    """Loader that reads each file once."""


def with_placeholders(source: str) -> str:
    """Replace `%x%` by `{% field x %}`, but not in template tags such as `{%if%}`."""
    pieces = tag_re.split(source)
    pieces[::2] = [
        FIELD.sub(lambda found: f"%{found[2]}%" if found[1] else f"{{% field {found[2]} %}}", piece)
        for piece in pieces[::2]
    ]
    return "".join(pieces)


def inline(html: str) -> str:
    """Inline `<style>` unless marked `data-css-inline="keep"`. Fetches nothing.

    css-inline is recursive: 20,000 nested elements kill the process. Pass foreign html through
    `common.html.balance` first.
    """
    return _INLINER.inline(html)


class LetterEngine(Engine):
    default_builtins = ["delivery.rendering.library"]  # noqa: RUF012 (as Engine declares it)


def letter_templates() -> list[str]:
    """Return the templates with html and text in templates/letters/issues/."""
    return _names(ISSUE_FOLDER)


def check_template(name: str, params: Mapping[str, str]) -> None:
    """Raise UnknownTemplate or UnknownField if a newsletter can't use the template."""
    known(ISSUE_FOLDER, name)
    fields = field_names(params)
    for kind in ("html", "txt"):
        for node in fields_of(_template(f"{ISSUE_FOLDER}/{name}.{kind}")):
            if node.name.lower() not in fields:
                raise UnknownField(node.name, fields)


def known(folder: str, name: str) -> None:
    """Raise UnknownTemplate if the folder has no such template."""
    names = _names(folder)
    if name not in names:
        raise UnknownTemplate(f"There is no email template “{name}”. There are: {', '.join(names)}.")


def render_parts(
    path: str, context: Mapping[str, Any], placeholders: Placeholders, own: TemplateSource | None = None
) -> RenderedParts:
    """Render html with inlined styles, and text, from files or from the custom template `own`.

    Only `own` may set the subject. Raises LetterError.
    """
    if own is not None:
        return client.render_custom(path, own, context, placeholders)
    html = _render(f"{path}.html", context, placeholders, autoescape=True)
    if path.startswith(f"{PAGE_FOLDER}/"):
        return RenderedParts(html=html)
    return RenderedParts(html=inline(html), text=usual_text(path, context, placeholders))


def usual_text(path: str, context: Mapping[str, Any], placeholders: Placeholders) -> str:
    """Render the text from our file. Raises LetterError."""
    return tidy(_render(f"{path}.txt", context, placeholders, autoescape=False))


def usual_source(path: str) -> TemplateSource:
    """Return the template's files. A page has no text. Raises UnknownTemplate."""
    folder, _, name = path.partition("/")
    known(folder, name)
    file = Path(settings.LETTER_TEMPLATES_DIR) / f"{path}.html"
    text = file.with_suffix(".txt")
    return TemplateSource(
        html=file.read_text(encoding="utf-8"), text=text.read_text(encoding="utf-8") if text.is_file() else ""
    )


def _render(name: str, context: Mapping[str, Any], placeholders: Placeholders, *, autoescape: bool) -> str:
    try:
        return str(
            _template(name).render(
                LetterContext(dict(context), placeholders=placeholders, autoescape=autoescape)
            )
        )
    except (TemplateSyntaxError, TemplateDoesNotExist, VariableDoesNotExist) as error:
        raise LetterError(f"The email template {name} cannot be used: {error}.") from error


def tidy(text: str) -> str:
    """Remove the blanks that template tags leave, and wrap lines as in posts, but not code."""
    lines = "\n".join(line.rstrip(" \t\r") for line in text.split("\n"))
    lines = re.sub(r"\n{3,}", "\n\n", lines).strip()
    parts = (
        [line] if _CODE.match(line) else wrapped(line, indent="  " * line.startswith("- ")) or [""]
        for line in lines.split("\n")
    )
    return "\n".join(part for each in parts for part in each) + "\n"


def _names(folder: str) -> list[str]:
    files = Path(settings.LETTER_TEMPLATES_DIR) / folder
    pages = folder == PAGE_FOLDER
    return sorted(path.stem for path in files.glob("*.html") if pages or path.with_suffix(".txt").is_file())


def _template(name: str) -> Template:
    try:
        return engine_here(autoescape=name.endswith(".html")).get_template(name)
    except (TemplateSyntaxError, TemplateDoesNotExist) as error:
        raise LetterError(f"The email template {name} cannot be used: {error}.") from error


def engine_here(*, autoescape: bool) -> LetterEngine:
    return _engine(str(settings.LETTER_TEMPLATES_DIR), autoescape)


@lru_cache(maxsize=8)
def _engine(folder: str, autoescape: bool) -> LetterEngine:
    files = ("delivery.rendering.engine.LetterLoader", [folder])
    return LetterEngine(loaders=[("delivery.rendering.engine.KeptLoader", [files])], autoescape=autoescape)


def fields_of(template: Template) -> Iterator[FieldNode]:
    """Yield the fields of a template and of all it extends and includes."""
    waiting, seen = [template], {template.name}
    while waiting and len(seen) <= _MOST_TEMPLATES:
        nodes = waiting.pop().nodelist
        yield from (node for node in nodes.get_nodes_by_type(FieldNode) if isinstance(node, FieldNode))
        others = set()
        for node in (*nodes.get_nodes_by_type(ExtendsNode), *nodes.get_nodes_by_type(IncludeNode)):
            name = node.parent_name if isinstance(node, ExtendsNode) else getattr(node, "template", None)
            if not isinstance(name, FilterExpression) or not isinstance(name.var, str) or name.filters:
                said = "An email template can only extend and include templates named in quotes."
                error = LetterError(said)
                error.token = node.token  # type: ignore[attr-defined]
                raise error
            others.add(str(name.var))
        waiting.extend(_template(name) for name in others - seen)
        seen |= others
