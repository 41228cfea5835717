from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db.models import Sum
from django.http import HttpRequest
from django.utils.html import format_html_join
from unfold.widgets import UnfoldAdminSelectWidget

from common.admin.html import column, when
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
from common.clock import utcnow, zone_names
from common.optional_apps import is_on
from common.parts import Facts, Part, listed
from common.ports.panels import Action, Panel
from common.refused import Refused
from common.text import pluralize, shortened
from feedletter_site.migrate_from.confirmations import send_confirmations, unsent_confirmations
from feedletter_site.migrate_from.source import COLUMNS, READING, SOURCES, Source, csv_rows, source_called
from feedletter_site.migrate_from.take_over import State, answer_questions, begin_reading, begin_taking
from feedletter_site.models import Arrival, ArrivalLine
from migrate_from.records import ImportResult, Options
from migrate_from.secret_files import LARGEST_SECRET as MOST_BYTES_OF_SECRETS
from migrate_from.secret_files import parse_secrets
from reader.models import Reader

LONGEST_NAME = 200
FATES_AS_SHOWN = {
    ImportResult.REFUSED: ("Can’t be imported", "Not imported"),
    ImportResult.GONE: ("Gone there", "Gone there"),
    ImportResult.UNREAD: ("Couldn’t be read", "Couldn’t be read"),
    ImportResult.NEW: ("New posts", "New posts"),
    ImportResult.ASKS: ("Posts to decide on", "Posts to decide on"),
    ImportResult.CHANGED: ("To be changed", "Changed"),
    ImportResult.TAKEN: ("To be imported", "Imported"),
    ImportResult.THERE: ("Already here", "Already here"),
}
SAID = {
    State.ASKING: "The file has several people’s data. Answer the questions first.",
    State.UPLOADING: CUT_OFF,
    State.STOPPED: "Stopped. The file is deleted. Imported rows stay.",
    State.DONE: "The file is deleted. Upload a newer one to add what is missing. Nothing is imported twice.",
    State.UNUSABLE: "The file is deleted.",
}
UNCHANGED = "Nothing has changed yet. Only the servers of feeds were contacted."
PAGE, OTHERWISE = "Import from another program", "Use the command migrate_from."


def about_arrival(row: Arrival) -> Part:
    return Facts(
        ("From", source_called(row.source).name),
        *_options_of(row),
        ("Size", size_of(row)),
        ("Uploaded", listed([when(row.created_at), *([f"by {row.by}"] if row.by else ())])),
        ("Begun", when(row.begun_at)),
        ("Ended", when(row.ended_at)),
    )


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
    for question in row.questions:
        if (name := question["option"]) in given:
            yield question["label"], dict(question["choices"])[_choice(given[name])]


def _choice(value: Any) -> str:
    return value if isinstance(value, str) else "yes" if value else ""


class AnswersForm(forms.Form):
    """Questions about one file. The choices of a flag are "" and “yes”."""

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        row = Arrival.objects.get(pk=keys[0])
        for question in row.questions:
            choices = [(value, label) for value, label in question["choices"]]
            is_optional = "" in dict(choices)
            self.fields[question["option"]] = forms.ChoiceField(
                label=question["label"],
                choices=choices if is_optional else [("", "– please choose –"), *choices],
                required=not is_optional,
                initial=_choice(row.options.get(question["option"])),
                widget=UnfoldAdminSelectWidget(),
            )

    def clean(self) -> dict[str, Any]:
        kinds = {name: type(getattr(Options(), name)) for name in self.cleaned_data}
        return {"answers": {name: kinds[name](value) for name, value in self.cleaned_data.items()}}


def answer(request: HttpRequest, keys: list[int], *, answers: dict[str, Any]) -> str:
    answer_questions(Arrival.objects.get(pk=keys[0]), answers, now=utcnow())
    return "Thank you. The file is being read again. Nothing changes until you import it."


class ArrivalForm(StyledForm, forms.Form):
    program = forms.ChoiceField()
    file = UploadField(otherwise=OTHERWISE)
    second = UploadField(otherwise=OTHERWISE, label="Second file", required=False, allow_empty_file=True)
    secrets = UploadField(otherwise=OTHERWISE, label="Secrets", required=False)
    reader = forms.CharField(required=False, max_length=40)
    zone = forms.ChoiceField(label="Time zone", required=False)
    stale = forms.ChoiceField(
        label="Old unsent issues",
        required=False,
        choices=[("skip", "Don’t send them"), ("send", "Send them")],
    )
    queued = forms.ChoiceField(
        label="Queued messages",
        required=False,
        choices=[("drop", "List and drop them"), ("keep", "Keep them")],
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.kept_secrets: dict[str, str] = {}
        known = map(source_called, sorted(SOURCES))
        sources = [one for one in known if is_on("reader") or not one.needs_reader]
        field: Any = self.fields["program"]
        field.choices = [(one.key, one.name) for one in sources]
        for name, attribute in (("file", "file_help"), ("second", "second_help")):
            explained = [one for one in sources if getattr(one, attribute)]
            rows = ((one.key, one.name, getattr(one, attribute)) for one in explained)
            self._show(
                name,
                format_html_join("", '<div data-of="{}">{}: {}</div>', rows),
                sources if name == "file" else explained,
            )
        zone: Any = self.fields["zone"]
        zone.choices = [("", "Choose"), *((name, name) for name in sorted(zone_names()))]
        zoned = [one for one in sources if one.needs_zone]
        self._only("zone", "the time zone of the machine that ran it.", zoned)
        read = [one for one in sources if one.needs_reader]
        self._only("reader", "the name of the reader to import it for, such as ada.", read)
        self._only(
            "secrets",
            "its feedletter-secrets.properties, for links in old emails and the tokens of bridges. It is kept"
            " encrypted, never shown, and deleted with the upload. The salt of the links stays, encrypted.",
            [one for one in sources if one.secrets],
        )
        unsent = [one for one in sources if one.has_unsent]
        self._only("stale", "posts of issues that were over a week ago and never sent.", unsent)
        self._only(
            "queued", "messages left in its queues. Kept ones are sent when you resume sending.", unsent
        )

    def _only(self, name: str, help: str, sources: Sequence[Source]) -> None:
        if not sources:
            del self.fields[name]
            return
        self._show(name, f"{', '.join(one.name for one in sources)}: {help}", sources)

    def _show(self, name: str, help: str, sources: Sequence[Source]) -> None:
        """A script shows a field only for these programs."""
        field = self.fields[name]
        field.help_text = help
        field.widget.attrs["data-of"] = " ".join(one.key for one in sources)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        source = source_called(data["program"]) if data.get("program") else None
        if source is not None and source.needs_second and not data.get("second"):
            self.add_error("second", f"Choose the second file, too. {source.second_help}")
        reader = Reader.objects.filter(slug=data.get("reader", ""), leaving_at=None)
        if source is not None and source.needs_reader and not reader.exists():
            self.add_error("reader", "There is no reader with this name.")
        if source is not None and source.needs_zone and not data.get("zone"):
            self.add_error("zone", "Choose the time zone of the machine that ran it.")
        if source is not None and data.get("secrets"):
            try:
                given = parse_secrets(data["secrets"].read(MOST_BYTES_OF_SECRETS + 1))
            except Refused as error:
                self.add_error("secrets", f"This file {error}")
            else:
                self.kept_secrets = {name: given[name] for name in given if name.startswith(source.secrets)}
        return data

    def options(self) -> dict[str, Any]:
        data, source = self.cleaned_data, source_called(self.cleaned_data["program"])
        zone = {"zone": data["zone"]} if source.needs_zone else {}
        unsent = {"sends_stale": data["stale"] == "send", "keeps_queued": data["queued"] == "keep"}
        reader = {"reader": data["reader"]} if source.needs_reader else {}
        return zone | reader | (unsent if source.has_unsent else {})


def files_of(data: dict[str, Any]) -> dict[str, Any]:
    # Without a second file its name is "", like the first one's.
    chosen = {source_called(data["program"]).second: data["second"], "": data["file"]}
    return {suffix: file for suffix, file in chosen.items() if file}


def what_stays(row: Arrival) -> str:
    return "Imported rows stay." if row.state == State.TAKING else ""


def count_unsent() -> int:
    return unsent_confirmations().values("row").distinct().count()


def what_ours_do(keys: list[int]) -> list[str]:
    people = pluralize(count_unsent(), "person", "people")
    return [
        f"{people} signed up with feedletter, which didn’t get to send a confirmation. Each gets ours, once.",
        f"Its link works for {settings.CONFIRM_HOURS} hours.",
    ]


@admin.register(Arrival)
class ArrivalAdmin(ReportedUploadAdmin):
    rows = ("file", "files")
    list_display = ("file_name", "program", "shown_state", "uploaded", "outcome")
    empty = EmptyList(
        "Nothing has been imported",
        "Upload the database of the other program. You’ll see what happens, and which posts are new,"
        " before anything changes.",
        PAGE,
        "admin:feedletter_site_arrival_add",
    )
    own_panels = (
        Panel("Notes", lambda row: tuple(row.notes), order=20),
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
        Action(
            "answer",
            "Answer questions",
            answer,
            form=AnswersForm,
            fits=lambda row: bool(row.questions) and row.state in row.WAITING,
        ),
        Action(
            "confirm",
            "Send confirmations",
            lambda *_: f"{pluralize(send_confirmations(now=utcnow()), 'confirmation')} will be sent.",
            what_ours_do,
            fits=lambda row: row.source == "feedletter" and row.state == State.DONE and count_unsent() > 0,
        ),
        stop_action(Arrival, what_stays),
    )
    results, result, unit = FATES_AS_SHOWN, "what", "feed"
    total, heads = Sum("count"), ("what", "name", "why, or how")
    upload_form = ArrivalForm
    page = UploadPage(
        PAGE,
        "Posts that it already sent aren’t sent again. Posts published since then are. Stop the other program"
        " for good, then upload its database. You’ll see what happens, and which posts are new, before"
        " anything changes. For the subscribers of a newsletter, use “Import a list” instead.",
        (Arrival, "Back"),
        Arrival.objects.all(),
    )
    program = column("from", lambda row: source_called(row.source).name, ordering="source")

    def words_of(self, row: Arrival, now: datetime) -> str:
        if row.state == State.LOOKED and not row.is_read:
            return (
                f"{UNCHANGED} Read the feeds to see which posts would be new, so that nothing is sent twice."
            )
        return SAID.get(State(row.state), UNCHANGED)

    def cells_of(self, row: Arrival, line: ArrivalLine) -> tuple[Any, ...]:
        return line.kind, shortened(line.name, LONGEST_NAME), line.words

    def expected(self, row: Arrival) -> Sequence[ImportResult]:
        return READING if row.is_read else ()

    def keep(self, request: HttpRequest, form: Any) -> Arrival:
        data = form.cleaned_data
        files = {suffix: pieces_of_upload(file) for suffix, file in files_of(data).items()}
        about = {"source": data["program"], "options": form.options(), "secrets": form.kept_secrets}
        return Arrival.keep(files, State.LOOKING, **upload_facts(request, data["file"]), **about)

    def report_of(self, row: Arrival) -> tuple[str, Iterator[list[str]]]:
        lines = row.lines.order_by("pk").values_list(*COLUMNS)
        return f"{row.source}-{row.pk}.csv", csv_rows(lines.iterator(chunk_size=2000))
