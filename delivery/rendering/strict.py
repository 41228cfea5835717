"""Templates that see plain values only: no method is ever called, no object of the engine can be reached.

Django looks up attributes and calls whatever can be called; from `forloop` or `block` that leads to the
engine itself. Here a name leads into mappings, lists, strings and the fields of frozen dataclasses.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from django.template import Template, VariableDoesNotExist
from django.template.base import FilterExpression, Lexer, NodeList, Parser, Variable
from django.template.context import BaseContext
from django.template.loader_tags import BlockNode


class StrictVariable(Variable):
    """A name with dots, such as `post.top_image.alt`."""

    def _resolve_lookup(self, context: Any) -> Any:
        current = context
        for step in self.lookups or ():
            current = _step(current, step)
        # (`block` alone says nothing; only `block.super` does.)
        return "" if isinstance(current, BlockNode) else current


class StrictExpression(FilterExpression):
    """A variable and its filters."""

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
    """A template whose every expression is strict."""

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
    if name in _open_names(type(current)):
        return getattr(current, name)
    raise VariableDoesNotExist("There is no %s in %r.", (name, type(current).__name__))


def _open_names(sort: type) -> frozenset[str]:
    """The fields and properties of a dataclass; nothing of any other class."""
    if sort not in _OPEN:
        _OPEN[sort] = _names_of(sort) if is_dataclass(sort) else frozenset()
    return _OPEN[sort]


def _names_of(sort: type) -> frozenset[str]:
    properties = {name for name in dir(sort) if isinstance(getattr(sort, name, None), property)}
    names = {field.name for field in fields(sort)} | properties
    return frozenset(name for name in names if not name.startswith("_"))


# (There are as many as kinds of values in contexts.)
_OPEN: dict[type, frozenset[str]] = {}
