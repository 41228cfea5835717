"""Running the actions of panels.py: a dangerous one says first what it will do."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from common import panels
from common.admin_refusals import report


def runner(action: panels.Action) -> Callable[..., HttpResponse | None]:
    """What the admin calls with the rows chosen."""

    def run(modeladmin: Any, request: HttpRequest, queryset: "QuerySet[Any]") -> HttpResponse | None:
        keys = list(queryset.values_list("pk", flat=True))
        if action.confirm is not None and "confirmed" not in request.POST:
            return _ask(modeladmin, request, action, action.confirm(keys))
        report(request, lambda: action.run(request, keys))
        return None

    return run


def _ask(
    modeladmin: Any, request: HttpRequest, action: panels.Action, sentences: Sequence[str]
) -> HttpResponse:
    posted = [(name, value) for name, values in request.POST.lists() for value in values]
    key = request.POST.get("_on_page", "")
    context = {
        **modeladmin.admin_site.each_context(request),
        "title": action.title,
        "opts": modeladmin.opts,
        "sentences": sentences,
        "posted": [pair for pair in posted if pair[0] != "csrfmiddlewaretoken"],
        "back": modeladmin.page_url(key) if key else request.get_full_path(),
    }
    return TemplateResponse(request, "admin/confirm_action.html", context)
