"""Pages of uploaded files that a worker processes."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.forms.widgets import Script
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from django.utils.safestring import SafeString
from unfold.decorators import display

from common.admin.html import moment_of
from common.admin.lists import as_csv
from common.admin.model_admin import ReadOnlyAdmin
from common.clock import utcnow
from common.ports.panels import Action
from common.uploads import Upload

EVERY_SECONDS = 1
LONG_WAIT = timedelta(seconds=30)
NOT_ALIVE = "No worker has processed it for a while. It continues when one does."
BEGINS = "It begins in a moment."
CUT_OFF = "The upload is incomplete. Stop it, and choose the file again."


def words_about_worker(row: Upload, now: datetime) -> str:
    """Return whether a worker is expected, as a sentence; "" while one works.

    A row waits from the end of its last lease (common.db.leases.handed_on).
    """
    if now - (row.lease_until or row.created_at) > LONG_WAIT:
        return NOT_ALIVE
    return "" if row.lease_token else BEGINS


def work_progress(
    row: Upload, *, percent: int, lines: str, words: str, facts: Sequence[tuple[str, str]]
) -> SafeString:
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
    return render_to_string("admin/work_progress.html", context)


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


class UploadAdmin(ReadOnlyAdmin):
    """`report` names the download."""

    report = "report"
    uploaded = moment_of("created_at", "uploaded")

    class Media:
        js = (Script("feedletter/issue.js", defer=True),)

    @staticmethod
    def how_far(row: Any) -> SafeString:
        raise NotImplementedError

    def report_of(self, row: Any) -> tuple[str, Iterator[list[str]]]:
        """Return the file name and the rows."""
        raise NotImplementedError

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        view = self.admin_site.admin_view
        own = [
            path("<int:pk>/progress/", view(self.progress_view), name=f"{name}_progress"),
            path(f"<int:pk>/{self.report}.csv", view(self.report_view), name=f"{name}_{self.report}"),
        ]
        return [*own, *super().get_urls()]

    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return only the panel, which the page polls."""
        return HttpResponse(self.how_far(self._row(request, pk)))

    def report_view(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        name, rows = self.report_of(self._row(request, pk))
        return as_csv(rows, name)

    def _row(self, request: HttpRequest, pk: int) -> Any:
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_queryset(request).filter(pk=pk).first()
        if row is None:
            raise Http404
        return row

    @display(
        description="state",
        label={"open": "info", "waiting": "warning", "done": "success", "unusable": "danger"},
        ordering="state",
    )
    def shown_state(self, row: Upload) -> tuple[str, str]:
        colour = "open" if row.state in row.OPEN else "waiting" if row.state in row.WAITING else row.state
        return colour, row.get_state_display()
