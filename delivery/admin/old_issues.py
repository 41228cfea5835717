"""Admin pages of imports of old issues."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import RelatedFieldListFilter
from django.http import HttpRequest

from common.admin.html import add_url, column, list_link, when
from common.admin.lists import asks
from common.admin.model_admin import StyledForm
from common.admin.page_words import EmptyList
from common.admin.uploads import (
    CUT_OFF,
    ReportedUploadAdmin,
    UploadField,
    UploadPage,
    begin_action,
    pieces_of_upload,
    size_of,
    stop_action,
    upload_facts,
)
from common.clock import utcnow
from common.parts import Facts, Link, Part
from common.ports import channels
from common.ports.panels import Action, Panel
from common.text import pluralize, shortened
from delivery.admin.bridges.panels import is_bridge
from delivery.models import Issue, IssueImport, IssueImportLine
from delivery.old_issues.worker import UNDOABLE, State, begin_taking, begin_undoing, upload
from subscriptions.models import Subscribable

Result = IssueImportLine.Result
LONGEST_LINE_TITLE = 120
PAGE = "Import old issues"
RESULTS_AS_SHOWN = {
    Result.REFUSED: ("Can’t be imported", "Not imported"),
    Result.CHANGED: ("To be imported with changes", "Imported with changes"),
    Result.TAKEN: ("To be imported", "Imported"),
    Result.THERE: ("Here already", "Here already"),
}
NOTHING_IS_SENT = "Old issues are only shown in the archive. Nothing is sent."
SENTENCES = {
    State.UPLOADING: CUT_OFF,
    State.LOOKED: f"Nothing has changed yet. {NOTHING_IS_SENT}",
    State.DONE: f"{NOTHING_IS_SENT} The file is deleted.",
    State.STOPPED: "The file is deleted. Issues imported before stay until you undo the import.",
    State.UNUSABLE: "The file is deleted. Issues imported before stay until you undo the import.",
    State.UNDONE: "The issues of this import are deleted, and so are the pictures copied for them.",
}


def about_import(row: IssueImport) -> Part:
    number = row.issues.count()
    issues = list_link(Issue, pluralize(number, "issue"), issue_import__id__exact=row.pk)
    return Facts(
        ("Newsletter", Link(row.subscribable)),
        ("From", row.program or "unknown"),
        ("Pictures", row.get_pictures_display()),
        ("For paying subscribers", "imported, too" if row.with_paid else "not imported"),
        ("Private", "imported, too" if row.with_private else "not imported"),
        ("Size", size_of(row) if row.size else "imported by a command"),
        ("Uploaded", f"{when(row.created_at)}{f' by {row.by}' if row.by else ''}"),
        ("Old address", row.address),
        ("Ended", when(row.ended_at, "")),
        ("Issues", issues if number else ""),
    )


def what_undoing_does(keys: list[int]) -> list[str]:
    return [
        f"{pluralize(row.issues.count(), 'issue')} of “{row.file_name}” will be deleted from the archive of"
        f" “{row.subscribable}”, with the pictures copied for them."
        for row in IssueImport.objects.filter(pk__in=keys).select_related("subscribable")
    ]


def undo(request: HttpRequest, keys: list[int]) -> str:
    for row in IssueImport.objects.filter(pk__in=keys):
        begin_undoing(row, now=utcnow())
    return "The import is being undone."


def what_stays(row: IssueImport) -> str:
    return "Issues imported before stay until you undo the import." if row.issues.exists() else ""


def import_offer(subscribable: Subscribable, request: HttpRequest) -> Part:
    """Link on a newsletter's tab “Issues”."""
    if is_bridge(subscribable) or not request.user.has_perm("delivery.add_issueimport"):
        return ""
    url = add_url(IssueImport, newsletter=subscribable.pk)
    words = "Bring the issues that you sent with another program into the archive. Nothing is sent."
    return (words, Link(url, PAGE))


class IssueImportForm(StyledForm, forms.Form):
    newsletter = forms.ModelChoiceField(queryset=Subscribable.objects.none(), empty_label=None)
    file = UploadField(
        otherwise="Use the command import_issues.",
        help_text="The zip file of Substack, Mailchimp or Buttondown, the JSON file of Ghost, the XML file of"
        " WordPress (or a zip file with several), the CSV file of beehiiv, or listmonk’s campaigns (JSON, or"
        " a plain dump of its database). At most 200 MB.",
    )
    pictures = forms.ChoiceField(
        choices=IssueImport.Pictures.choices,
        help_text="Pictures that stay where they are vanish when you close your old account.",
    )
    address = forms.URLField(
        label="Address of the old site",
        required=False,
        max_length=500,
        assume_scheme="https",
        help_text="Ghost’s file leaves it out, but its pictures and links need it. For example:"
        " https://old.example.org",
    )
    with_paid = forms.BooleanField(
        label="Also issues for paying subscribers",
        required=False,
        help_text="Anyone who can see the archive can read them.",
    )
    with_private = forms.BooleanField(
        label="Also private issues",
        required=False,
        help_text="Such as issues for members. They’re only in the admin, not in the archive.",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["newsletter"]
        kinds = [kind.key for kind in channels.person_kinds() if not kind.is_companion]
        field.queryset = Subscribable.objects.filter(channel__in=kinds).order_by("name")


@admin.register(IssueImport)
class IssueImportAdmin(ReportedUploadAdmin):
    rows = ("import", "imports")
    list_display = ("file_name", "newsletter", "program", "shown_state", "uploaded", "outcome")
    list_filter = (("subscribable", asks("Which newsletter?", RelatedFieldListFilter)),)
    list_select_related = ("subscribable",)
    empty = EmptyList(
        "No old issues have been imported",
        "Import the issues that you sent with Substack, Ghost, WordPress, beehiiv, Mailchimp, Buttondown or"
        " listmonk, so that your archive is complete. Nothing is sent.",
        PAGE,
        "admin:delivery_issueimport_add",
    )
    own_panels = (Panel("About this import", about_import, order=40),)
    own_actions = (
        begin_action(
            IssueImport, State.LOOKED, "run", "Import these issues", begin_taking, "The import has started."
        ),
        Action(
            "undo",
            "Undo this import",
            undo,
            what_undoing_does,
            fits=lambda row: row.state in UNDOABLE and row.issues.exists(),
        ),
        stop_action(IssueImport, what_stays),
    )
    results, heads = RESULTS_AS_SHOWN, ("issue", "sent", "note")
    upload_form = IssueImportForm
    page = UploadPage(
        PAGE,
        "Bring the issues that you sent with another program into the archive, with their dates. You see a"
        " list first. Nothing is sent, and you can undo the import.",
        (Issue, "Back to issues"),
        IssueImport.objects.select_related("subscribable"),
    )
    newsletter = column("newsletter", lambda row: row.subscribable, ordering="subscribable")

    def words_of(self, row: IssueImport, now: datetime) -> str:
        return SENTENCES.get(State(row.state), "")

    def cells_of(self, row: IssueImport, line: IssueImportLine) -> tuple[Any, ...]:
        zone = row.subscribable.zone
        return shortened(line.title, LONGEST_LINE_TITLE), when(line.at, zone=zone), line.words

    def keep(self, request: HttpRequest, form: Any) -> IssueImport:
        data = dict(form.cleaned_data)
        subscribable, file = data.pop("newsletter"), data.pop("file")
        facts = upload_facts(request, file)
        return upload(subscribable=subscribable, pieces=pieces_of_upload(file), **facts, **data)

    def report_of(self, row: IssueImport) -> tuple[str, Iterator[list[str]]]:
        return f"old-issues-{row.pk}.csv", _csv(row)


def _csv(row: IssueImport) -> Iterator[list[str]]:
    yield ["result", "issue", "sent", "note"]
    lines = row.lines.order_by("pk").values_list("result", "title", "at", "words")
    for result, title, at, words in lines.iterator(chunk_size=2000):
        yield [result, title, at.isoformat() if at else "", words]
