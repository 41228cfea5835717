"""What the admin pages of all apps share: services own transactions, later apps add panels and actions."""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from unfold.admin import ModelAdmin

from common import panels
from common.kinds import InvalidDestination

FAILURES = (ValidationError, InvalidDestination, ValueError)


class ServiceAdmin(ModelAdmin):  # type: ignore[misc]
    """A page whose changes go through services.

    Django wraps its admin views in a transaction; ours may not be, since services open their own and ask
    servers before they do. The CSRF check is made by the admin site itself.
    """

    compressed_fields = True
    list_filter_submit = True
    show_full_result_count = False

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        response: HttpResponse = self._changeform_view(request, object_id, form_url, extra_context or {})
        return response

    @property
    def label(self) -> str:
        return str(self.model._meta.label)

    def get_fieldsets(self, request: HttpRequest, obj: Model | None = None) -> Any:
        fieldsets = list(super().get_fieldsets(request, obj))
        if obj is not None:
            fieldsets += [
                (panel.title, {"fields": (_panel_field(self, panel),)}) for panel in self._shown(obj)
            ]
        return fieldsets

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> Any:
        fields = list(super().get_readonly_fields(request, obj))
        return fields + [_panel_field(self, panel) for panel in self._shown(obj)] if obj else fields

    def _shown(self, obj: Model) -> list[panels.Panel]:
        return [panel for panel in panels.panels(self.label) if panel.render(obj)]

    def get_actions(self, request: HttpRequest) -> Any:
        actions = super().get_actions(request)
        for action in panels.actions(self.label):
            actions[action.name] = (_run(action), action.name, action.title)
        return actions


class ReadOnlyAdmin(ServiceAdmin):
    """Rows that the program writes and people only read."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def _panel_field(admin: ServiceAdmin, panel: panels.Panel) -> Callable[[Model], SafeString | str]:
    def field(obj: Model) -> SafeString | str:
        return panel.render(obj)

    field.__name__ = f"panel_{panel.title}"
    field.short_description = ""  # type: ignore[attr-defined]
    return field


def _run(action: panels.Action) -> Callable[[ServiceAdmin, HttpRequest, "QuerySet[Model]"], None]:
    def run(modeladmin: ServiceAdmin, request: HttpRequest, queryset: "QuerySet[Model]") -> None:
        keys = list(queryset.values_list("pk", flat=True))
        report(request, lambda: action.run(request, keys))

    run.__name__ = action.name
    return run


def report(request: HttpRequest, act: Callable[[], str]) -> bool:
    """Runs an act and shows its sentence; an error it foresees becomes a message too. False on error."""
    try:
        messages.success(request, act())
    except FAILURES as error:
        messages.error(request, sentence(error))
        return False
    return True


def sentence(error: Exception) -> str:
    """A foreseen error as one text for people."""
    if isinstance(error, ValidationError):
        return " ".join(error.messages)
    return str(error)


def table(head: Iterable[str], rows: Iterable[Iterable[Any]], empty: str = "Nothing yet.") -> SafeString:
    """A small table for a panel; every cell is escaped unless it is safe already."""
    body = format_html_join("", "<tr>{}</tr>", ((_cells("td", row),) for row in rows))
    if not body:
        return format_html("<p>{}</p>", empty)
    return format_html(
        '<table class="fl-table"><thead><tr>{}</tr></thead><tbody>{}</tbody></table>',
        _cells("th", head),
        body,
    )


def _cells(tag: str, values: Iterable[Any]) -> SafeString:
    return format_html_join("", f"<{tag}>{{}}</{tag}>", ((value,) for value in values))


def link_to(obj: Model, text: str = "") -> SafeString:
    """A link to an object's admin page."""
    meta = obj._meta
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_change", args=[obj.pk])
    return format_html('<a class="text-primary-600" href="{}">{}</a>', url, text or str(obj))


def list_link(model: type[Model], text: str, **filters: Any) -> SafeString:
    """A link to a filtered list."""
    meta = model._meta
    query = "&".join(f"{key}={value}" for key, value in filters.items())
    url = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    return format_html('<a class="text-primary-600" href="{}?{}">{}</a>', url, query, text)


def ago(delta: timedelta) -> str:
    """A length of time in words: “12 minutes”, “3 hours”, “2 days”."""
    seconds = int(abs(delta.total_seconds()))
    for size, word in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {word}" + ("s" if count > 1 else "")
    return f"{seconds} seconds"


__all__ = [
    "ReadOnlyAdmin",
    "ServiceAdmin",
    "ago",
    "link_to",
    "list_link",
    "report",
    "sentence",
    "table",
]
