"""Pages of uploaded files that a worker processes."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Count, Model, QuerySet
from django.forms.widgets import Script
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import URLPattern, reverse
from unfold.widgets import UnfoldAdminFileFieldWidget

from common.access import visible_to
from common.admin.html import block, column, list_url, moment_of, object_url, page
from common.admin.lists import as_csv
from common.admin.model_admin import ReadOnlyAdmin
from common.admin.refusals import require
from common.body_limits import MAX_FORM_BYTES, MEGABYTE, takes_body
from common.clock import utcnow
from common.parts import Facts, Part, Table, Template
from common.ports.panels import Action, Panel
from common.text import pluralize
from common.uploads import MOST_UPLOADED_BYTES, PIECE_SIZE, Upload

EVERY_SECONDS = 1
LATEST_SHOWN, LINES_SHOWN = 5, 25
LONG_WAIT = timedelta(seconds=30)
NOT_ALIVE = "No worker has processed it for a while. It continues when one does."
BEGINS = "It begins in a moment."
CUT_OFF = "The upload is incomplete. Stop it, and choose the file again."
STATE_COLOURS = {"open": "info", "waiting": "warning", "done": "success", "unusable": "danger"}
takes_upload = takes_body(MOST_UPLOADED_BYTES + MAX_FORM_BYTES, files=True)


class UploadField(forms.FileField):
    """`otherwise` says what to do with a larger file."""

    widget = UnfoldAdminFileFieldWidget
    default_error_messages: ClassVar = {"required": "Choose the file.", "empty": "The file is empty."}

    def __init__(self, *, otherwise: str = "", accept: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.otherwise = otherwise
        if accept:
            self.widget.attrs["accept"] = accept

    def validate(self, value: Any) -> None:
        super().validate(value)
        if value and value.size > MOST_UPLOADED_BYTES:
            sizes = f"{value.size // MEGABYTE:,} MB, and the limit is {MOST_UPLOADED_BYTES // MEGABYTE} MB"
            raise ValidationError(f"The file has {sizes}. {self.otherwise}")


@dataclass(frozen=True, slots=True)
class UploadPage:
    """`back` is the list to return to, and the text of the link."""

    title: str
    intro: str
    back: tuple[type[Model], str]
    latest: "QuerySet[Any] | None" = None
    heading: str = ""

    def response(self, model_admin: Any, request: HttpRequest, form: forms.Form) -> HttpResponse:
        rows: Any = ()
        if self.latest is not None:
            rows = visible_to(request.user, self.latest.all(), "subscribable")[:LATEST_SHOWN]
        context = {
            "title": self.title,
            "opts": model_admin.opts,
            "page": self,
            "form": form,
            "latest": [(object_url(row), row) for row in rows],
            "imports": list_url(self.latest.model) if self.latest is not None else "",
            "back": list_url(self.back[0]),
        }
        return page(request, "admin/upload_form.html", context)


def upload_facts(request: HttpRequest, file: Any) -> dict[str, Any]:
    """Return the arguments of Upload.keep that every page has."""
    return {"name": file.name, "by": request.user.get_username(), "now": utcnow()}


def pieces_of_upload(file: Any) -> Iterator[bytes]:
    return file.chunks(PIECE_SIZE)  # type: ignore[no-any-return]


def report_panel(
    url: str,
    heads: Sequence[str],
    sections: Iterable[tuple[str, int, "QuerySet[Any]"]],
    cells: Callable[[Any], tuple[Any, ...]],
) -> Part:
    """Show the first lines of each section, which has a label and a number, and a link to all lines."""
    shown = []
    for label, number, lines in sections:
        if rows := [cells(line) for line in lines.order_by("pk")[:LINES_SHOWN]]:
            shown.append((label, number, Table(heads, rows), lines.count() - len(rows)))
    return Template("admin/report.html", {"url": url, "sections": shown}) if shown else ""


def words_about_worker(row: Upload, now: datetime) -> str:
    """Return whether a worker is expected, as a sentence; "" while one works.

    A row waits from the end of its last lease (common.db.leases.handed_on).
    """
    if now - (row.lease_until or row.created_at) > LONG_WAIT:
        return NOT_ALIVE
    return "" if row.lease_token else BEGINS


def work_progress(row: Upload, *, percent: int, lines: str, words: str, facts: Facts) -> Part:
    """Render a panel that its page polls while a worker is busy; `lines` is the total."""
    context = {
        "address": reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_progress", args=[row.pk]),
        "every": EVERY_SECONDS,
        "is_going": row.state in row.OPEN,
        "percent": percent,
        "heading": row.get_state_display(),
        "lines": lines,
        "words": words,
        "facts": facts,
        "trouble": row.trouble,
    }
    return Template("admin/work_progress.html", context)


def size_of(row: Upload) -> str:
    return f"{row.size / 1024 / 1024:,.1f} MB" if row.size > 100_000 else f"{row.size:,} bytes"


def begin_action(
    model: type[Upload], state: str, name: str, title: str, begin: Callable[..., None], said: str
) -> Action:
    """Return an action that calls `begin(row, now=…)` for rows in this state."""
    run = _for_each(model, begin, f"{said} You can leave this page and come back.")
    return Action(name, title, run, fits=lambda row: row.state == state)


def stop_action(model: type[Upload], what_stays: Callable[[Any], str]) -> Action:
    """`what_stays` returns a sentence, or "" if nothing has been taken over."""

    def sentences(keys: list[int]) -> list[str]:
        return [
            f"The rest of “{row.file_name}” will not be imported. {stays}"
            if (stays := what_stays(row))
            else f"“{row.file_name}” will be deleted. Nothing was imported."
            for row in model._default_manager.filter(pk__in=keys)
        ]

    run = _for_each(model, model.stop, "Stopped, and the file is deleted.")
    return Action("end", "Discard this import", run, sentences, fits=lambda row: row.state in row.stoppable)


def _for_each(
    model: type[Upload], act: Callable[..., None], said: str
) -> Callable[[HttpRequest, list[int]], str]:
    def run(request: HttpRequest, keys: list[int]) -> str:
        for row in model._default_manager.filter(pk__in=keys):
            act(row, now=utcnow())
        return said

    return run


def shown_state(row: Upload) -> tuple[str, str]:
    colour = "open" if row.state in row.OPEN else "waiting" if row.state in row.WAITING else row.state
    return colour, row.get_state_display()


class UploadAdmin(ReadOnlyAdmin):
    """`report` names the download."""

    report = "report"
    uploaded = moment_of("created_at", "uploaded")
    shown_state = column("state", shown_state, label=STATE_COLOURS, ordering="state")

    class Media:
        js = (Script("feedletter/issue.js", defer=True),)

    def how_far(self, row: Any) -> Part:
        raise NotImplementedError

    def report_of(self, row: Any) -> tuple[str, Iterator[list[str]]]:
        """Return the file name and the rows."""
        raise NotImplementedError

    def get_urls(self) -> list[URLPattern]:
        name, report = self.opts.model_name, self.report
        return [
            self.own_path("<int:pk>/progress/", self.progress_view, f"{name}_progress"),
            self.own_path(f"<int:pk>/{report}.csv", self.report_view, f"{name}_{report}"),
            *super().get_urls(),
        ]

    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return only the panel, which the page polls."""
        return HttpResponse(block(self.how_far(self._row(request, pk))))

    def report_view(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        name, rows = self.report_of(self._row(request, pk))
        return as_csv(rows, name)

    def _row(self, request: HttpRequest, pk: int) -> Any:
        require(self.has_view_permission(request))
        row = self.get_queryset(request).filter(pk=pk).first()
        if row is None:
            raise Http404
        return row


class ReportedUploadAdmin(UploadAdmin):
    """Upload whose lines have results, and which is chosen on the page to add one.

    `results` has the labels of each result before and after an import, the most urgent first; `result` is
    the lines’ field, `total` counts them, and `unit` is what `parts` counts.
    """

    page: UploadPage
    upload_form: type[forms.Form]
    results: Mapping[Any, tuple[str, str]]
    result, unit = "result", "issue"
    total: Any = Count("pk")
    heads: Sequence[str]
    outcome = column(
        "outcome", lambda row: ", ".join(f"{name.lower()}: {number:,}" for name, number in row.counts)
    )

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        progress = Panel("Progress", self.how_far, order=10)
        self.own_panels = (progress, Panel("Report", self.report_of_lines, order=30), *self.own_panels)

    def words_of(self, row: Any, now: datetime) -> str:
        """Return a sentence about a row that no worker processes."""
        raise NotImplementedError

    def cells_of(self, row: Any, line: Any) -> tuple[Any, ...]:
        raise NotImplementedError

    def numbers_of(self, rows: Sequence[Any]) -> dict[int, dict[str, int]]:
        """Return the numbers of lines by primary key and result."""
        lines = self.model._meta.get_field("lines").related_model
        name = self.model._meta.get_field("lines").field.name
        found = lines._default_manager.filter(**{f"{name}__in": [row.pk for row in rows]}).order_by()
        numbers: dict[int, dict[str, int]] = {row.pk: {} for row in rows}
        for pk, result, number in found.values_list(name, self.result).annotate(number=self.total):
            numbers[pk][result] = number
        return numbers

    def expected(self, row: Any) -> Collection[Any]:
        """Return results that are shown without lines, too."""
        return ()

    def counts_of(self, row: Any, numbers: Mapping[str, int]) -> list[tuple[str, int]]:
        shown = (each for each in self.results if each in numbers or each in self.expected(row))
        return [(self.label_of(row, each), numbers.get(each, 0)) for each in shown]

    def label_of(self, row: Any, result: Any) -> str:
        return self.results[result][row.begun_at is not None]

    def how_far(self, row: Any) -> Part:
        """Polled by the page while a worker is busy."""
        now = utcnow()
        return work_progress(
            row,
            percent=100 * row.done // row.parts if row.parts else 0,
            lines=pluralize(row.parts, self.unit) if row.parts else "",
            words=words_about_worker(row, now) if row.state in row.OPEN else self.words_of(row, now),
            facts=Facts(*self.counts_of(row, self.numbers_of([row])[row.pk])),
        )

    def report_of_lines(self, row: Any) -> Part:
        """Show the first lines of each result."""
        numbers = self.numbers_of([row])[row.pk]
        name = f"admin:{self.opts.app_label}_{self.opts.model_name}_{self.report}"
        sections = [
            (self.label_of(row, each), numbers.get(each, 0), row.lines.filter(**{self.result: each}))
            for each in self.results
        ]
        return report_panel(reverse(name, args=[row.pk]), self.heads, sections, partial(self.cells_of, row))

    def keep(self, request: HttpRequest, form: Any) -> Upload:
        raise NotImplementedError

    def look_up(self, rows: Sequence[Any]) -> None:
        super().look_up(rows)
        numbers = self.numbers_of(rows)
        for row in rows:
            row.counts = self.counts_of(row, numbers[row.pk])

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return self._has(request, "add")

    @takes_upload
    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        require(self.has_add_permission(request))
        chosen = {"newsletter": request.GET.get("newsletter")}
        form = self.upload_form(request.POST or None, request.FILES or None, initial=chosen)
        if request.method == "POST" and form.is_valid():
            return HttpResponseRedirect(object_url(self.keep(request, form)))
        return self.page.response(self, request, form)
