"""Template filters that draw parts, each by the template of its name."""

from collections.abc import Callable
from typing import Any

from django.db.models import Model
from django.template import Library
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import conditional_escape, format_html_join
from django.utils.safestring import SafeString, mark_safe

from common import parts
from common.access import OPENS
from common.admin.chart import plot_of

register = Library()
register.filter(plot_of)


@register.filter
def block(part: Any) -> SafeString:
    """Draw parts below each other; sentences become paragraphs."""
    if isinstance(part, tuple):
        return _joined(part, block)
    if isinstance(part, str | parts.Link) and not isinstance(part, SafeString):
        part = parts.Text(part) if part else ""
    return _drawn(part, tag="p")


@register.filter
def inline(part: Any) -> SafeString:
    """Draw parts within a line, a fact or a cell."""
    if isinstance(part, tuple):
        return _joined(part, inline)
    if type(part) is int:
        return SafeString(f"{part:,}")
    return _drawn("" if part is None else part, tag="span")


def _joined(each: tuple[Any, ...], draw: Callable[[Any], SafeString]) -> SafeString:
    return format_html_join("", "{}", ((draw(part),) for part in each))


def _drawn(part: Any, tag: str) -> SafeString:
    if isinstance(part, parts.Template):
        return render_to_string(part.name, dict(part.context), part.request)
    if not isinstance(part, parts.Shown):
        return conditional_escape(part)
    if isinstance(part, parts.Link) and not may_open(part.to):
        return SafeString() if isinstance(part, parts.Button) else inline(part.label)
    name = type(part).__name__.lower()
    # Blanks at the ends would part a link from a full stop.
    return mark_safe(render_to_string(f"admin/parts/{name}.html", {"part": part, "tag": tag}).strip())  # noqa: S308


@register.filter
def address(to: Model | str) -> str:
    """Return the URL of an object's page, or the URL that it is."""
    if isinstance(to, str):
        return to
    meta = to._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[to.pk])


@register.filter
def may_open(to: Model | str) -> bool:
    """Return whether the user whose page this is may open another one."""
    return OPENS.get()(address(to))
