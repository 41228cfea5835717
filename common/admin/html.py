"""Template filters that draw parts, each by the template of its name."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta, tzinfo
from typing import Any
from urllib.parse import urlencode, urlsplit
from zoneinfo import ZoneInfo

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.template import Library
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import conditional_escape, format_html_join
from django.utils.safestring import SafeString, mark_safe
from unfold.decorators import display

from common import parts
from common.access import OPENS
from common.admin.chart import plot_of
from common.clock import utcnow, zone_words
from common.parts import Link
from common.text import pluralize

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


object_url = address


def web_link(url: str, text: str = "") -> Link | str:
    """Feeds are not trusted, so other schemes stay text."""
    return Link(url, text) if urlsplit(url).scheme in ("http", "https") else text or url


def list_url(model: type[Model], **filters: Any) -> str:
    meta = model._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    return f"{url}?{urlencode(filters)}" if filters else url


def list_link(model: type[Model], text: object, **filters: Any) -> Link:
    return Link(list_url(model, **filters), text)


def add_url(model: type[Model], **initial: Any) -> str:
    meta = model._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_add")
    return f"{url}?{urlencode(initial)}" if initial else url


def when(moment: datetime | None, empty: str = "–", *, zone: tzinfo | None = None) -> str:
    """Format as "2 Mar 2026, 12:00 CET", by default in TIME_ZONE."""
    if moment is None:
        return empty
    local = timezone.localtime(moment, zone)
    name = local.tzname() or ""
    # Zones without an abbreviation have names such as "+0545".
    shown = f"UTC{name[:3]}:{name[3:] or '00'}" if name[:1] in ("+", "-") else name
    # Break only between day and hour.
    return (
        f"{local.day}\N{NO-BREAK SPACE}{local:%b}\N{NO-BREAK SPACE}{local:%Y, %H:%M}\N{NO-BREAK SPACE}{shown}"
    )


def short_day(day: date) -> str:
    return f"{day.day} {day:%b}"


def short_when(moment: datetime, *, now: datetime, zone: tzinfo | None = None) -> str:
    """Return "14:25" for today, "Yesterday 7:00", "Tomorrow 7:00", otherwise "Mon 23 Nov".

    Of another day to come it gives the time, too, and of another year the year.
    """
    local, today = timezone.localtime(moment, zone), timezone.localtime(now, zone).date()
    clock, days = f"{local.hour}:{local.minute:02}", (local.date() - today).days
    if days == 0:
        return f"Today {clock}" if moment > now else clock
    if days in (-1, 1):
        return f"{'Tomorrow' if days > 0 else 'Yesterday'} {clock}"
    year = f" {local.year}" if local.year != today.year else ""
    return f"{local:%a} {local.day} {local:%b}{year}{f', {clock}' if days > 0 else ''}"


def short_when_there(moment: datetime, *, now: datetime, zone: ZoneInfo) -> str:
    """Name the zone if it is not the admin's."""
    words = short_when(moment, now=now, zone=zone)
    is_same = moment.astimezone(zone).utcoffset() == timezone.localtime(moment).utcoffset()
    return words if is_same else f"{words} ({zone_words(zone)})"


def brief(moment: datetime | None, empty: str = "–", *, zone: ZoneInfo | None = None) -> str:
    """Format for a cell: "14:25" today, else "Mon 23 Nov"."""
    if moment is None:
        return empty
    now = utcnow()
    words = short_when_there(moment, now=now, zone=zone) if zone else short_when(moment, now=now)
    return words.replace(" ", "\N{NO-BREAK SPACE}")


def moment_of(field: str, description: str, empty: str = "–") -> Any:
    return column(description, lambda row: brief(getattr(row, field), empty), ordering=field)


def ago(delta: timedelta) -> str:
    seconds = int(abs(delta.total_seconds()))
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return pluralize(seconds // size, word)
    return pluralize(seconds, "second")


def column(description: str, of: Callable[[Any], Any], **options: Any) -> Any:
    """Declare a list's column, whose cells are parts unless `options` (Unfold's) give it a label."""

    @display(description=description, **options)
    def cell(admin: Any, row: Any) -> Any:
        return of(row) if options.keys() & {"label", "boolean"} else inline(of(row))

    return cell


def page(request: HttpRequest, template: str, context: Mapping[str, Any]) -> TemplateResponse:
    """Return a page within the admin's frame."""
    return TemplateResponse(request, template, {**admin.site.each_context(request), **context})
