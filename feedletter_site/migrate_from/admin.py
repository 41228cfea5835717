from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Model, Sum
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from unfold.decorators import display
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from common.admin.html import facts, html_table, list_url, listed, object_url, paragraph, when
from common.admin.page_words import EmptyList
from common.admin.uploads import (
    CUT_OFF,
    UploadAdmin,
    begin_action,
    size_of,
    stop_action,
    words_about_worker,
    work_progress,
)
from common.body_limits import MAX_FORM_BYTES, MEGABYTE, takes_body
from common.clock import utcnow
from common.optional_apps import is_on
from common.ports.panels import Panel
from common.text import pluralize, shortened
from common.uploads import MOST_BYTES, PIECE_SIZE
from feedletter_site.migrate_from.report import COLUMNS, ORDER, READING, ImportResult, csv_rows
from feedletter_site.migrate_from.source import SOURCES, Source, source_called
from feedletter_site.migrate_from.worker import State, begin_reading, begin_taking
from feedletter_site.models import Arrival, ArrivalLine
from reader.models import Reader

LINES_SHOWN, LONGEST_NAME = 25, 200
FATES_AS_SHOWN = {
    ImportResult.REFUSED: ("Can’t be imported", "Not imported"),
    ImportResult.UNREAD: ("Couldn’t be read", "Couldn’t be read"),
    ImportResult.NEW: ("New posts", "New posts"),
    ImportResult.ASKS: ("Posts to decide on", "Posts to decide on"),
    ImportResult.CHANGED: ("To be changed", "Changed"),
    ImportResult.TAKEN: ("To be imported", "Imported"),
    ImportResult.THERE: ("Already here", "Already here"),
}
SAID = {
    State.UPLOADING: CUT_OFF,
    State.STOPPED: "Stopped. The file is deleted. Imported rows stay.",
    State.DONE: "The file is deleted. Upload a newer one to add what is missing. Nothing is imported twice.",
    State.UNUSABLE: "The file is deleted.",
}
UNCHANGED = "Nothing has changed yet. Only the servers of feeds were contacted."


def counts(row: Arrival) -> list[tuple[str, int]]:
    return counts_of([row])[row.pk]


def counts_of(rows: Sequence[Arrival]) -> dict[int, list[tuple[str, int]]]:
    lines = ArrivalLine.objects.filter(arrival__in=[row.pk for row in rows]).order_by()
    numbers: dict[int, dict[str, int]] = {row.pk: {} for row in rows}
    for pk, what, number in lines.values_list("arrival", "what").annotate(number=Sum("count")):
        numbers[pk][what] = number
    return {row.pk: _as_shown(row, numbers[row.pk]) for row in rows}


def _as_shown(row: Arrival, found: Mapping[str, int]) -> list[tuple[str, int]]:
    is_done = row.begun_at is not None
    shown = (fate for fate in ORDER if found.get(fate) or (row.is_read and fate in READING))
    return [(FATES_AS_SHOWN[fate][is_done], found.get(fate, 0)) for fate in shown]


def how_far(row: Arrival) -> SafeString:
    """Refreshes itself while a worker works."""
    return work_progress(
        row,
        percent=100 * row.done // row.parts if row.parts else 0,
        lines=pluralize(row.parts, "feed") if row.parts else "",
        words=sentence_about_state(row, utcnow()),
        facts=[(name, f"{number:,}") for name, number in counts(row)],
    )


def sentence_about_state(row: Arrival, now: datetime) -> str:
    if row.state in row.OPEN:
        return words_about_worker(row, now)
    if row.state == State.LOOKED and not row.is_read:
        return f"{UNCHANGED} Read the feeds to see which posts would be new, so that nothing is sent twice."
    return SAID.get(State(row.state), UNCHANGED)


def what_to_mind(row: Arrival) -> SafeString | str:
    return format_html_join("", "<p>{}</p>", ((note,) for note in row.notes))


def report(row: Arrival) -> SafeString | str:
    """Show the first lines of each fate, the most urgent first."""
    drawn, is_done = [], row.begun_at is not None
    numbers = dict(counts(row))
    for fate in ORDER:
        label = FATES_AS_SHOWN[fate][is_done]
        lines = row.lines.filter(what=fate).order_by("pk").values_list("kind", "name", "words")
        shown = [(kind, shortened(name, LONGEST_NAME), words) for kind, name, words in lines[:LINES_SHOWN]]
        if not shown:
            continue
        more = row.lines.filter(what=fate).count() - len(shown)
        drawn.append(format_html('<h3 class="fl-h">{}: {}</h3>', label, f"{numbers[label]:,}"))
        drawn.append(html_table(("what", "name", "why, or how"), shown))
        if more:
            drawn.append(paragraph(f"and {pluralize(more, 'more line')}"))
    if not drawn:
        return ""
    url = reverse("admin:feedletter_site_arrival_report", args=[row.pk])
    link = format_html('<p><a class="fl-link" href="{}">Download the report as CSV</a></p>', url)
    return format_html_join("", "{}", ((each,) for each in (link, *drawn)))


def about_arrival(row: Arrival) -> SafeString:
    pairs: list[tuple[str, Any]] = [
        ("From", source_called(row.source).name),
        *_options_of(row),
        ("Size", size_of(row)),
        ("Uploaded", listed([when(row.created_at), *([f"by {row.by}"] if row.by else ())])),
        ("Begun", when(row.begun_at)),
        ("Ended", when(row.ended_at)),
    ]
    return facts(pairs)


def _options_of(row: Arrival) -> Iterator[tuple[str, str]]:
    """Yield what was chosen on the form."""
    form, given = ArrivalForm.base_fields, row.options
    chosen = {
        "zone": given.get("zone", ""),
        "reader": given.get("reader", ""),
        "stale": {True: "send", False: "skip"}.get(given.get("sends_stale", ""), ""),
        "queued": {True: "keep", False: "drop"}.get(given.get("keeps_queued", ""), ""),
    }
    for name, value in chosen.items():
        if value:
            field: Any = form[name]
            yield field.label or name.capitalize(), dict(getattr(field, "choices", ())).get(value, value)


PAGE = "Import from another program"


class ArrivalForm(forms.Form):
    program = forms.ChoiceField(widget=UnfoldAdminSelectWidget())
    file = forms.FileField(
        error_messages={"required": "Choose the file.", "empty": "The file is empty."},
        widget=UnfoldAdminFileFieldWidget(),
    )
    second = forms.FileField(
        label="Second file", required=False, allow_empty_file=True, widget=UnfoldAdminFileFieldWidget()
    )
    reader = forms.CharField(
        required=False,
        max_length=40,
        widget=UnfoldAdminTextInputWidget(),
    )
    zone = forms.ChoiceField(label="Time zone", required=False, widget=UnfoldAdminSelectWidget())
    stale = forms.ChoiceField(
        label="Old unsent issues",
        required=False,
        choices=[("skip", "Don’t send them"), ("send", "Send them")],
        widget=UnfoldAdminSelectWidget(),
    )
    queued = forms.ChoiceField(
        label="Queued messages",
        required=False,
        choices=[("drop", "List and drop them"), ("keep", "Keep them")],
        widget=UnfoldAdminSelectWidget(),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = map(source_called, sorted(SOURCES))
        sources = [one for one in known if is_on("reader") or not one.needs_reader]
        field: Any = self.fields["program"]
        field.choices = [(one.key, one.name) for one in sources]
        for name, attribute in (("file", "file_help"), ("second", "second_help")):
            helps = [(f"{one.name}: ", words) for one in sources if (words := getattr(one, attribute))]
            self.fields[name].help_text = format_html_join(mark_safe("<br>"), "{}{}", helps)
        zone: Any = self.fields["zone"]
        zone.choices = [("", "Choose"), *((name, name) for name in sorted(available_timezones()))]
        zoned = [one for one in sources if one.needs_zone]
        self._only("zone", "the time zone of the machine that ran it.", zoned)
        read = [one for one in sources if one.needs_reader]
        self._only("reader", "the name of the reader to import it for, such as ada.", read)
        unsent = [one for one in sources if one.has_unsent]
        self._only("stale", "posts of issues that were over a week ago and never sent.", unsent)
        self._only(
            "queued", "messages left in its queues. Kept ones are sent when you resume sending.", unsent
        )

    def _only(self, name: str, help: str, sources: Sequence[Source]) -> None:
        if not sources:
            del self.fields[name]
            return
        self.fields[name].help_text = f"{', '.join(one.name for one in sources)}: {help}"

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if sum(file.size for file in files_of(data).values()) > MOST_BYTES:
            raise ValidationError(
                f"At most {MOST_BYTES // MEGABYTE} MB. For a larger file use the command migrate_from."
            )
        source = source_called(data["program"]) if data.get("program") else None
        if source is not None and source.needs_second and not data.get("second"):
            self.add_error("second", f"Choose the second file, too. {source.second_help}")
        if source is not None and source.needs_reader and not _is_reader(data.get("reader", "")):
            self.add_error("reader", "There is no reader with this name.")
        if source is not None and source.needs_zone and not data.get("zone"):
            self.add_error("zone", "Choose the time zone of the machine that ran it.")
        return data

    def options(self) -> dict[str, Any]:
        """Return the options of the program."""
        data, source = self.cleaned_data, source_called(self.cleaned_data["program"])
        zone = {"zone": data["zone"]} if source.needs_zone else {}
        unsent = {"sends_stale": data["stale"] == "send", "keeps_queued": data["queued"] == "keep"}
        reader = {"reader": data["reader"]} if source.needs_reader else {}
        return zone | reader | (unsent if source.has_unsent else {})


def _is_reader(name: str) -> bool:
    return Reader.objects.filter(slug=name, leaving_at=None).exists()


def files_of(data: dict[str, Any]) -> dict[str, Any]:
    second = source_called(data["program"]).second if data.get("program") else ""
    chosen = {"": data.get("file"), second: data.get("second")} if second else {"": data.get("file")}
    return {suffix: file for suffix, file in chosen.items() if file}


def what_stays(row: Arrival) -> str:
    return "Imported rows stay." if row.state == State.TAKING else ""


@admin.register(Arrival)
class ArrivalAdmin(UploadAdmin):
    rows = ("file", "files")
    list_display = ("file_name", "program", "shown_state", "uploaded", "outcome")
    empty = EmptyList(
        "Nothing has been imported",
        "Upload the database of the other program. You’ll see what happens, and which posts are new,"
        " before anything changes.",
        PAGE,
        "admin:feedletter_site_arrival_add",
        "feedletter_site.add_arrival",
    )
    own_panels = (
        Panel("Progress", how_far, order=10),
        Panel("Notes", what_to_mind, order=20),
        Panel("Report", report, order=30),
        Panel("About this import", about_arrival, order=40),
    )
    own_actions = (
        begin_action(Arrival, State.LOOKED, "run", "Import", begin_taking, "The import has started."),
        begin_action(
            Arrival,
            State.LOOKED,
            "read",
            "See which posts would be new",
            begin_reading,
            "The feeds are being read.",
        ),
        stop_action(Arrival, what_stays),
    )
    how_far = staticmethod(how_far)

    def look_up(self, rows: Sequence[Any]) -> None:
        super().look_up(rows)
        counts = counts_of(rows)
        for row in rows:
            row.counts = counts[row.pk]

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._has(request, "add")

    @takes_body(MOST_BYTES + MAX_FORM_BYTES, files=True)
    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = ArrivalForm(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            data = form.cleaned_data
            row = Arrival.keep(
                {suffix: file.chunks(PIECE_SIZE) for suffix, file in files_of(data).items()},
                State.LOOKING,
                source=data["program"],
                options=form.options(),
                name=data["file"].name,
                by=request.user.get_username(),
                now=utcnow(),
            )
            return HttpResponseRedirect(object_url(row))
        context = {
            **self.admin_site.each_context(request),
            "title": PAGE,
            "opts": self.opts,
            "media": self.media,
            "form": form,
            "latest": Arrival.objects.all()[:5],
            "back": list_url(Arrival),
        }
        return TemplateResponse(request, "admin/feedletter_site/arrival_add.html", context)

    def report_of(self, row: Arrival) -> tuple[str, Iterator[list[str]]]:
        lines = row.lines.order_by("pk").values_list(*COLUMNS)
        return f"{row.source}-{row.pk}.csv", csv_rows(lines.iterator(chunk_size=2000))

    @display(description="from", ordering="source")
    def program(self, row: Arrival) -> str:
        return source_called(row.source).name

    @display(description="outcome")
    def outcome(self, row: Arrival) -> str:
        return ", ".join(f"{name.lower()}: {number:,}" for name, number in row.counts)  # type: ignore[attr-defined]
