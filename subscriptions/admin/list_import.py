from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import ChoicesFieldListFilter, RelatedFieldListFilter
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Count, Q, QuerySet
from django.forms.widgets import Script
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    StreamingHttpResponse,
)
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from common.admin.flows import asks
from common.admin.html import list_url, moment_of, object_url
from common.admin.lists import as_csv
from common.admin.model_admin import ReadOnlyAdmin
from common.admin.page_words import EmptyList
from common.body_limits import MAX_FORM_BYTES, MEGABYTE, takes_body
from common.clock import utcnow
from common.ports import channels as kinds
from common.ports.panels import Action, Panel
from common.text import pluralize
from subscriptions.admin import list_import_panels as panels
from subscriptions.admin.list_columns import ColumnsForm, explain_columns
from subscriptions.lists.export import export_subscribers
from subscriptions.lists.reading import Terms, refused_head, refused_row
from subscriptions.lists.uploads import PIECE_SIZE, State, begin_import, stop_import, upload
from subscriptions.models import ListImport, Subscribable, Subscription
from subscriptions.subscribers.consent import LONGEST_WORDS

MOST_BYTES = 200 * MEGABYTE
STATUS_CHOICES = (
    ("unconfirmed", "have not confirmed: they get nothing until they do"),
    ("confirmed", "have agreed to get this newsletter, and I can prove it"),
    ("unsubscribed", "have left: they get nothing, and no later list brings them back"),
    ("suppressed", "must not be written to at all"),
)


def with_lists() -> "QuerySet[Subscribable]":
    channels = [kind.key for kind in kinds.person_kinds() if not (kind.is_by_code or kind.is_companion)]
    return Subscribable.objects.filter(channel__in=channels).order_by("name")


class UploadForm(forms.Form):
    newsletter = forms.ModelChoiceField(
        queryset=Subscribable.objects.none(), widget=UnfoldAdminSelectWidget(), empty_label=None
    )
    file = forms.FileField(
        label="CSV file",
        help_text="At most 200 MB. Nothing is changed before you have seen what it would do.",
        error_messages={"required": "Choose the file.", "empty": "The file is empty."},
        widget=UnfoldAdminFileFieldWidget(attrs={"accept": ".csv,.tsv,.txt,text/csv,text/plain"}),
    )
    status = forms.ChoiceField(
        label="Lines without a status are people who",
        choices=STATUS_CHOICES,
        widget=UnfoldAdminSelectWidget(),
        help_text="Where the file itself says it of a line, that counts.",
    )
    words = forms.CharField(
        label="How they agreed",
        required=False,
        max_length=LONGEST_WORDS,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Kept with each as the proof, such as: “Signed up on example.org with double opt-in, taken"
        " over from Mailchimp in 2026.” Where the file has words of its own for a line, those are kept.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["newsletter"]
        field.queryset = with_lists()

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MOST_BYTES:
            raise ValidationError(
                f"It has {file.size // MEGABYTE:,} MB, and at most {MOST_BYTES // MEGABYTE} are taken. "
                "Split it, or import it with the command import_subscribers."
            )
        return file


class ListPages:
    actions_list = ("import_list", "export_list")

    @takes_body(MOST_BYTES + MAX_FORM_BYTES, files=True)
    @action(description="Import a list", url_path="import", icon="upload", permissions=["add"])
    def import_list(self: Any, request: HttpRequest) -> HttpResponse:
        chosen = {"newsletter": request.GET.get("newsletter")}
        form = UploadForm(request.POST or None, request.FILES or None, initial=chosen)
        if request.method == "POST" and form.is_valid():
            row = take_in(request, form)
            return HttpResponseRedirect(object_url(row))
        running = ListImport.objects.select_related("subscribable")[:5]
        return _page(self, request, "import_file.html", "Import a list", form=form, running=running)

    @action(description="Export a list", url_path="export", icon="download", permissions=["view"])
    def export_list(self: Any, request: HttpRequest) -> HttpResponseBase:
        if not self.has_view_permission(request):
            raise PermissionDenied
        rows = with_lists()
        asked = request.GET.get("newsletter", "")
        chosen = rows.filter(pk=asked).first() if asked.isdecimal() and len(asked) < 19 else None
        if chosen is not None:
            return download(chosen)
        confirmed = Count("subscriptions", filter=Q(subscriptions__status="confirmed"))
        counted = rows.annotate(every=Count("subscriptions"), confirmed=confirmed)
        return _page(self, request, "export.html", "Export a list", newsletters=counted)


def take_in(request: HttpRequest, form: UploadForm) -> ListImport:
    data = form.cleaned_data
    return upload(
        subscribable=data["newsletter"],
        name=data["file"].name,
        pieces=data["file"].chunks(PIECE_SIZE),
        terms=Terms(data["status"], data["words"].strip()),
        by=request.user.get_username(),
        now=utcnow(),
    )


def export_url(subscribable: Subscribable) -> str:
    return f"{reverse('admin:subscriptions_subscription_export_list')}?newsletter={subscribable.pk}"


def import_url(subscribable: Subscribable) -> str:
    return f"{reverse('admin:subscriptions_subscription_import_list')}?newsletter={subscribable.pk}"


def download(subscribable: Subscribable) -> StreamingHttpResponse:
    name = f"{subscribable.name}-{timezone.localdate():%Y-%m-%d}.csv"
    return as_csv(export_subscribers(subscribable=subscribable), name)


def _page(model_admin: Any, request: HttpRequest, template: str, title: str, **context: Any) -> HttpResponse:
    shared = {
        **model_admin.admin_site.each_context(request),
        "title": title,
        "opts": model_admin.opts,
        "media": model_admin.media,
        "back": list_url(Subscription),
        "imports": list_url(ListImport),
    }
    return TemplateResponse(request, f"admin/subscriptions/{template}", {**shared, **context})


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
    sentences = []
    for row in ListImport.objects.filter(pk__in=keys):
        if row.state == State.IMPORTING:
            done = pluralize(row.added + row.updated, "line")
            sentences.append(
                f"The rest of “{row.file_name}” is not taken over. What {done} did so far stays."
            )
        else:
            sentences.append(f"“{row.file_name}” is forgotten. Nothing of it was taken over.")
    return sentences


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
        """Return only the panel, which the page polls."""
        return HttpResponse(panels.how_far(self._found(request, pk)))

    def refused_view(self, request: HttpRequest, pk: int) -> HttpResponseBase:
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
