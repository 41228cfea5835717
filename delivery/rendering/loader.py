"""Loads letter templates, and turns `%Field%` in their source into a hole."""

import re
from collections.abc import Iterable

from django.template import Origin, Template, TemplateDoesNotExist
from django.template.base import tag_re
from django.template.loaders import cached
from django.template.loaders.base import Loader as BaseLoader
from django.template.loaders.filesystem import Loader

from delivery.rendering.strict import StrictTemplate

# Upstream's rule; `\%x%` is a literal `%x%`. Neither `width:100%` nor `%20` can be the beginning of one.
_FIELD = re.compile(r"(\\?)%([A-Za-z]\w*)%", re.ASCII)
_NAME = re.compile(r"([a-z0-9_-]{1,64}/)?[a-z0-9_-]{1,64}\.(html|txt|css)", re.ASCII)


class LetterLoader(Loader):
    """The files of one folder and its sub-folders, by plain names only."""

    def get_contents(self, origin: Origin) -> str:
        if not _NAME.fullmatch(str(origin.template_name)):
            raise TemplateDoesNotExist(str(origin.template_name))
        return with_holes(super().get_contents(origin))


class _StrictLoader(BaseLoader):
    """As Django's, but what it makes is strict."""

    def get_template(self, template_name: str, skip: Iterable[Origin] | None = None) -> Template:
        for origin in self.get_template_sources(template_name):
            if skip is None or origin not in skip:
                return StrictTemplate(self.get_contents(origin), origin, template_name, self.engine)  # type: ignore[attr-defined]
        raise TemplateDoesNotExist(template_name)


class KeptLoader(cached.Loader, _StrictLoader):
    """Reads each file once."""


def with_holes(source: str) -> str:
    """The source with `{% field x %}` for `%x%`; template tags, such as `{%if%}`, are left alone."""
    pieces = tag_re.split(source)
    pieces[::2] = [_FIELD.sub(_hole, piece) for piece in pieces[::2]]
    return "".join(pieces)


def _hole(match: re.Match[str]) -> str:
    escaped, name = match.groups()
    return f"%{name}%" if escaped else f"{{% field {name} %}}"
