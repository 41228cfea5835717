"""Small pieces of the admin's pages: tables, links, moments."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, tzinfo
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from django.db.models import Model
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from common.text import pluralize

Response = TypeVar("Response", bound=HttpResponse)


def shown_once(response: Response) -> Response:
    """Marks a page that neither browsers nor `feedletter_site.kept_answers` may keep."""
    add_never_cache_headers(response)
    response.shown_once = True  # type: ignore[attr-defined]
    return response


ADMIN_LINK = '<a class="fl-link" href="{}">{}</a>'


def html_table(head: Iterable[str], rows: Iterable[Iterable[Any]], empty: str = "Nothing yet.") -> SafeString:
    """A small table for a panel; every cell is escaped unless it is safe already."""
    names = list(head)
    # On a phone a row becomes a card, and each cell says what it is.
    cell = '<td data-label="{}">{}</td>'
    cells = (format_html_join("", cell, zip(names, map(with_commas, row), strict=True)) for row in rows)
    body = format_html_join("", "<tr>{}</tr>", ((each,) for each in cells))
    if not body:
        return format_html('<p class="fl-quiet">{}</p>', empty)
    top = format_html_join("", '<th scope="col">{}</th>', ((name,) for name in names))
    return format_html(
        '<table class="fl-table"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>', top, body
    )


def with_commas(value: Any) -> Any:
    """A number as the admin writes them everywhere: 12,000. Anything else as it is."""
    return f"{value:,}" if type(value) is int else value


def facts(pairs: Iterable[tuple[str, Any]]) -> SafeString:
    """A list of names and values."""
    rows = format_html_join(
        "", "<dt>{}</dt><dd>{}</dd>", ((name, with_commas(value)) for name, value in pairs)
    )
    return format_html('<dl class="fl-facts">{}</dl>', rows)


def listed(values: Iterable[Any]) -> SafeString:
    """Values with commas between them."""
    return format_html_join(", ", "{}", ((value,) for value in values))


def paragraph(text: Any) -> SafeString:
    return format_html("<p>{}</p>", text)


def button(url: str, text: str) -> SafeString:
    """A link that looks like the next thing to do."""
    return format_html('<a class="fl-button" href="{}">{}</a>', url, text)


def link_to(obj: Model, text: object = "") -> SafeString:
    """A link to an object's admin page."""
    return format_html(ADMIN_LINK, object_url(obj), text or obj)


def object_url(obj: Model) -> str:
    """The address of an object's admin page."""
    meta = obj._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[obj.pk])


def web_link(url: str, text: str = "") -> SafeString | str:
    """A link to the web. Feeds say anything: a text that is no address of the web stays text."""
    if urlsplit(url).scheme not in ("http", "https"):
        return text or url
    return format_html('<a class="fl-link" href="{}" rel="noopener noreferrer">{}</a>', url, text or url)


def list_url(model: type[Model], **filters: Any) -> str:
    """The address of a filtered list."""
    meta = model._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    return f"{url}?{urlencode(filters)}" if filters else url


def list_link(model: type[Model], text: object, **filters: Any) -> SafeString:
    """A link to a filtered list."""
    return format_html(ADMIN_LINK, list_url(model, **filters), text)


def add_url(model: type[Model], **initial: Any) -> str:
    """The address of the form for a new object, filled in so far."""
    meta = model._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_add")
    return f"{url}?{urlencode(initial)}" if initial else url


def when(moment: datetime | None, empty: str = "–", *, zone: tzinfo | None = None) -> str:
    """ "2 Mar 2026, 12:00 CET", in a newsletter's zone or else the admin's (TIME_ZONE)."""
    if moment is None:
        return empty
    local = timezone.localtime(moment, zone)
    name = local.tzname() or ""
    # Zones without letters of their own are named by their distance: "+0545".
    shown = f"UTC{name[:3]}:{name[3:] or '00'}" if name[:1] in ("+", "-") else name
    # A line may break between day and hour only.
    return (
        f"{local.day}\N{NO-BREAK SPACE}{local:%b}\N{NO-BREAK SPACE}{local:%Y, %H:%M}\N{NO-BREAK SPACE}{shown}"
    )


def moment_of(field: str, description: str, empty: str = "–") -> Callable[[Any, Model], str]:
    """A column or read-only field that shows a moment with its zone."""

    def shown(admin: Any, obj: Model) -> str:
        return when(getattr(obj, field), empty)

    shown.short_description = description  # type: ignore[attr-defined]
    shown.admin_order_field = field  # type: ignore[attr-defined]
    return shown


def ago(delta: timedelta) -> str:
    """A length of time in words: “12 minutes”, “3 hours”, “2 days”."""
    seconds = int(abs(delta.total_seconds()))
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return pluralize(seconds // size, word)
    return pluralize(seconds, "second")
