"""The pages of uploaded lists: what one would do, how far it is, what it did."""

from collections.abc import Iterator

from django.contrib import admin
from django.contrib.admin import ChoicesFieldListFilter, RelatedFieldListFilter
from django.core.exceptions import PermissionDenied
from django.forms.widgets import Script
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, path
from unfold.decorators import display

from common.admin.csv_files import as_csv
from common.admin.html import moment_of
from common.admin.model_admin import ReadOnlyAdmin
from common.admin.page_words import EmptyList
from common.admin.questions import asks
from common.clock import utcnow
from common.ports.panels import Action, Panel
from common.text import pluralize
from subscriptions.admin import list_import_panels as panels
from subscriptions.admin.list_columns import ColumnsForm, explain_columns
from subscriptions.lists.reading import refused_head, refused_row
from subscriptions.lists.uploads import State, begin_import, stop_import
from subscriptions.models import ListImport

STATE_COLOURS = {
    State.CHECKED: "warning",
    State.ASKING: "warning",
    State.CHECKING: "info",
    State.IMPORTING: "info",
    State.DONE: "success",
    State.UNUSABLE: "danger",
}
ASKED = (State.ASKING, State.CHECKED)
GOING = (State.UPLOADING, State.CHECKING, *ASKED, State.IMPORTING)


def begin_chosen(request: HttpRequest, keys: list[int]) -> str:
    for row in ListImport.objects.filter(pk__in=keys):
        begin_import(list_import=row, now=utcnow())
    return "It is being taken over. You can leave this page and come back."


def stop_chosen(request: HttpRequest, keys: list[int]) -> str:
    for row in ListImport.objects.filter(pk__in=keys):
        stop_import(list_import=row, now=utcnow())
    return "It is stopped, and the file is forgotten."


def what_stopping_does(keys: list[int]) -> list[str]:
    said = []
    for row in ListImport.objects.filter(pk__in=keys):
        if row.state == State.IMPORTING:
            done = pluralize(row.added + row.updated, "line")
            said.append(f"The rest of “{row.file_name}” is not taken over. What {done} did so far stays.")
        else:
            said.append(f"“{row.file_name}” is forgotten. Nothing of it was taken over.")
    return said


@admin.register(ListImport)
class ListImportAdmin(ReadOnlyAdmin):
    list_display = ("file_name", "newsletter", "shown_state", "uploaded", "outcome")
    list_filter = (
        ("state", asks("How far are they?", ChoicesFieldListFilter)),
        ("subscribable", asks("Into which newsletter?", RelatedFieldListFilter)),
    )
    empty = EmptyList(
        "No list has been imported",
        "A list of subscribers comes as a CSV file: your own, or the export of another newsletter program."
        " You see what it would do before anything is changed.",
        "Import a list",
        "admin:subscriptions_subscription_import_list",
        "subscriptions.add_subscription",
    )
    list_select_related = ("subscribable",)
    own_panels = (
        Panel("How far it is", panels.how_far, order=10),
        Panel("What is in it", panels.sample, order=20),
        Panel("Refused lines", panels.refused_lines, order=30),
        Panel("About it", panels.about_import, order=40),
    )
    own_actions = (
        Action("run", "Import this list", begin_chosen, fits=lambda row: row.state == State.CHECKED),
        Action(
            "columns",
            "Say what its columns mean",
            explain_columns,
            form=ColumnsForm,
            fits=lambda row: row.state in ASKED,
        ),
        Action(
            "end", "Stop and forget it", stop_chosen, what_stopping_does, fits=lambda row: row.state in GOING
        ),
    )
    uploaded = moment_of("created_at", "uploaded")

    class Media:
        js = (Script("feedletter/issue.js", defer=True),)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        own = [
            path("<int:pk>/progress/", view(self.progress_view), name="subscriptions_listimport_progress"),
            path("<int:pk>/refused.csv", view(self.refused_view), name="subscriptions_listimport_refused"),
        ]
        return [*own, *super().get_urls()]

    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Only the panel that says how far it is, which the page asks for again and again."""
        return HttpResponse(panels.how_far(self._found(request, pk)))

    def refused_view(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """Every refused line with its reason, as a list that can be mended and imported."""
        row = self._found(request, pk)
        return as_csv(_report(row), f"refused-lines-of-import-{row.pk}.csv")

    def _found(self, request: HttpRequest, pk: int) -> ListImport:
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = ListImport.objects.select_related("subscribable").filter(pk=pk).first()
        if row is None:
            raise Http404
        return row

    @display(description="newsletter", ordering="subscribable")
    def newsletter(self, row: ListImport) -> str:
        return str(row.subscribable)

    @display(description="state", label=STATE_COLOURS, ordering="state")
    def shown_state(self, row: ListImport) -> tuple[str, str]:
        return row.state, row.get_state_display()

    @display(description="outcome")
    def outcome(self, row: ListImport) -> str:
        pluralize = panels.counts(row) if row.lines else ()
        return ", ".join(f"{name.lower()}: {number}" for name, number in pluralize)


def _report(row: ListImport) -> Iterator[list[str]]:
    yield refused_head(row.names)
    lines = row.refused_lines.order_by("line").values_list("line", "reason", "cells")
    for line, reason, cells in lines.iterator(chunk_size=2000):
        yield refused_row(line, reason, cells)
