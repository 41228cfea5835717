from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import ChoicesFieldListFilter, RelatedFieldListFilter
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.utils import timezone
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminTextareaWidget

from common.access import newsletters_of, visible_to
from common.admin.html import column, list_url, object_url, page
from common.admin.lists import as_csv, asks
from common.admin.model_admin import StyledForm
from common.admin.page_words import EmptyList
from common.admin.refusals import require
from common.admin.uploads import (
    UploadAdmin,
    UploadField,
    UploadPage,
    begin_action,
    pieces_of_upload,
    stop_action,
    takes_upload,
    upload_facts,
)
from common.clock import utcnow
from common.ports import channels as kinds
from common.ports.panels import Action, Panel
from common.text import pluralize
from subscriptions.admin import list_import_panels as panels
from subscriptions.admin.list_columns import ColumnsForm, columns_table, explain_columns, questions
from subscriptions.lists.export import export_subscribers
from subscriptions.lists.reading import Terms, refused_head, refused_row
from subscriptions.lists.undo import is_undoable, undo_import, undone_words
from subscriptions.lists.uploads import State, begin_import, harm_of, upload
from subscriptions.models import Destination, ListImport, Subscribable
from subscriptions.subscribers.consent import LONGEST_WORDS

STATUS_CHOICES = (
    ("", "are what the file says of them. If it says nothing, they haven’t confirmed"),
    ("confirmed", "agreed to get this newsletter, and I can prove it (unless the file says otherwise)"),
    ("unconfirmed", "haven’t confirmed: they get nothing until they do"),
    ("unsubscribed", "have unsubscribed: they get nothing, and no later import brings them back"),
    ("suppressed", "must not be emailed at all"),
)
PAGE = UploadPage(
    "Import a list",
    "Choose a CSV file. Its first line names the columns; only “email” is required. Exports of Mailchimp,"
    " MailPoet, Substack, Buttondown, Ghost, beehiiv, listmonk, Brevo, phpList, MailerLite, Kit,"
    " ActiveCampaign, Mailman and FeedBurner are recognized. If a column may mark people who unsubscribed, we"
    " ask you first. Importing doesn’t send any email, and never removes anybody from the Do not email list."
    " You can undo an import for a week.",
    (Destination, "Back to subscribers"),
    ListImport.objects.select_related("subscribable"),
    "Import a list of subscribers",
)
STARTED = "The import has started."


def with_lists(user: Any) -> "QuerySet[Subscribable]":
    channels = [kind.key for kind in kinds.person_kinds() if not (kind.is_by_code or kind.is_companion)]
    return visible_to(user, Subscribable.objects.filter(channel__in=channels).order_by("name"))


class UploadForm(StyledForm, forms.Form):
    newsletter = forms.ModelChoiceField(queryset=Subscribable.objects.none(), empty_label=None)
    file = UploadField(
        otherwise="Split it, or use the command import_subscribers.",
        accept=".csv,.tsv,.txt,text/csv,text/plain",
        label="CSV file",
        help_text="At most 200 MB. You see what happens before anything changes.",
    )
    status = forms.ChoiceField(
        label="The people in the file",
        choices=STATUS_CHOICES,
        required=False,
        help_text="Nobody becomes more than that.",
    )
    words = forms.CharField(
        label="How they agreed",
        required=False,
        max_length=LONGEST_WORDS,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Kept as proof of consent, for example: “Signed up on example.org with double opt-in,"
        " imported from Mailchimp in 2026.” If the file says how somebody agreed, that is kept instead.",
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["newsletter"]
        field.queryset = with_lists(user)
        if newsletters_of(user) is not None:
            status: Any = self.fields["status"]
            status.choices = [choice for choice in STATUS_CHOICES if choice[0] != "suppressed"]


class ListPages:
    actions_list = ("import_list", "export_list")

    @takes_upload
    @action(description="Import a list", url_path="import", icon="upload", permissions=["add"])
    def import_list(self: Any, request: HttpRequest) -> HttpResponse:
        chosen = {"newsletter": request.GET.get("newsletter")}
        form = UploadForm(request.POST or None, request.FILES or None, initial=chosen, user=request.user)
        if request.method == "POST" and form.is_valid():
            data, is_limited = form.cleaned_data, newsletters_of(request.user) is not None
            row = upload(
                subscribable=data["newsletter"],
                pieces=pieces_of_upload(data["file"]),
                terms=Terms(data["status"], data["words"].strip(), is_limited=is_limited),
                **upload_facts(request, data["file"]),
            )
            return HttpResponseRedirect(object_url(row))
        return PAGE.response(self, request, form)

    @action(description="Export a list", url_path="export", icon="download", permissions=["view"])
    def export_list(self: Any, request: HttpRequest) -> HttpResponseBase:
        require(self.has_view_permission(request))
        rows = with_lists(request.user)
        asked = request.GET.get("newsletter", "")
        chosen = rows.filter(pk=asked).first() if asked.isdecimal() and len(asked) < 19 else None
        if chosen is not None:
            name = f"{chosen.name}-{timezone.localdate():%Y-%m-%d}.csv"
            return as_csv(export_subscribers(subscribable=chosen), name)
        confirmed = Count("subscriptions", filter=Q(subscriptions__status="confirmed"))
        counted = rows.annotate(every=Count("subscriptions"), confirmed=confirmed)
        context = {
            "title": "Export a list",
            "opts": self.opts,
            "back": list_url(Destination),
            "newsletters": counted,
        }
        return page(request, "admin/subscriptions/export.html", context)


def what_stays(row: ListImport) -> str:
    if row.state != State.IMPORTING:
        return ""
    return f"{pluralize(row.added + row.updated, 'row')} imported so far stay."


def run_anyway(request: HttpRequest, keys: list[int]) -> str:
    for row in ListImport.objects.filter(pk__in=keys):
        begin_import(row, now=utcnow(), anyway=True)
    return STARTED


def undo_all(request: HttpRequest, keys: list[int]) -> str:
    rows = ListImport.objects.filter(pk__in=keys)
    return " ".join(undone_words(undo_import(row, now=utcnow())) for row in rows)


def undo_words(keys: list[int]) -> list[str]:
    return [
        f"{pluralize(row.added, 'subscriber')} of “{row.file_name}” will be removed, and {row.updated:,} will"
        " be as before. People who have left, confirmed or changed something since stay as they are."
        for row in ListImport.objects.filter(pk__in=keys)
    ]


@admin.register(ListImport)
class ListImportAdmin(UploadAdmin):
    list_display = ("file_name", "newsletter", "shown_state", "uploaded", "outcome")
    list_filter = (
        ("state", asks("Which state?", ChoicesFieldListFilter)),
        ("subscribable", asks("Which newsletter?", RelatedFieldListFilter)),
    )
    empty = EmptyList(
        "No list has been imported",
        "Import subscribers from a CSV file, such as an export of another newsletter program."
        " You see what happens before anything changes.",
        "Import a list",
        "admin:subscriptions_subscription_import_list",
    )
    list_select_related = ("subscribable",)
    scope = "subscribable"
    own_panels = (
        Panel("Progress", panels.how_far, order=10),
        Panel("Questions", questions, order=12, asks=True),
        Panel("Columns", columns_table, order=15),
        Panel("Examples", panels.sample, order=20),
        Panel("Rows that can’t be imported", panels.refused_lines_panel, order=30),
        Panel("About this import", panels.about_import, order=40),
    )
    own_actions = (
        replace(
            begin_action(ListImport, State.CHECKED, "run", "Import this list", begin_import, STARTED),
            fits=lambda row: row.state == State.CHECKED and not harm_of(row),
        ),
        Action(
            "run_anyway",
            "Import anyway",
            run_anyway,
            confirm=lambda keys: [harm_of(row) for row in ListImport.objects.filter(pk__in=keys)],
            fits=lambda row: bool(harm_of(row)),
        ),
        Action(
            "columns",
            "Change columns",
            explain_columns,
            form=ColumnsForm,
            fits=lambda row: row.state == State.CHECKED or "addresses" in (row.findings or {}),
        ),
        stop_action(ListImport, what_stays),
        Action(
            "undo",
            "Undo this import",
            undo_all,
            confirm=undo_words,
            fits=lambda row: is_undoable(row, utcnow()),
        ),
    )
    report = "refused"
    how_far = staticmethod(panels.how_far)
    newsletter = column("newsletter", lambda row: row.subscribable, ordering="subscribable")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[ListImport]":
        # Undoing or explaining somebody else's import could reach other newsletters.
        rows: QuerySet[ListImport] = super().get_queryset(request)
        return rows if newsletters_of(request.user) is None else rows.filter(is_limited=True)

    def report_of(self, row: ListImport) -> tuple[str, Iterator[list[str]]]:
        return f"refused-lines-of-import-{row.pk}.csv", _report(row)

    @display(description="outcome")
    def outcome(self, row: ListImport) -> str:
        if words := panels.outcome_of(row):
            return words.rstrip(".")
        counts = panels.counts(row).pairs if row.lines else ()
        return ", ".join(f"{name}: {number:,}".lower() for name, number in counts)


def _report(row: ListImport) -> Iterator[list[str]]:
    yield refused_head(row.names)
    lines = row.refused_lines.order_by("line").values_list("line", "reason", "cells")
    for line, reason, cells in lines.iterator(chunk_size=2000):
        yield refused_row(line, reason, cells)
