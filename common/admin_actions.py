"""Running the actions of panels.py: a dangerous one says first what it will do, some ask for more."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import QuerySet
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from common import panels
from common.admin_refusals import report

# Before the names of an action's own fields.
PREFIX = "with"


def runner(action: panels.Action) -> Callable[..., HttpResponse | None]:
    """What the admin calls with the rows chosen."""

    def run(modeladmin: Any, request: HttpRequest, queryset: "QuerySet[Any]") -> HttpResponse | None:
        keys = list(queryset.values_list("pk", flat=True))
        is_asked = "confirmed" in request.POST
        form = None
        if action.form is not None:
            form = action.form(keys, data=request.POST if is_asked else None, prefix=PREFIX)
        asks = action.confirm is not None or form is not None
        if asks and not (is_asked and (form is None or form.is_valid())):
            sentences = action.confirm(keys) if action.confirm else ()
            return _ask(modeladmin, request, action, sentences, form)
        answers = form.cleaned_data if form is not None else {}
        report(request, lambda: action.run(request, keys, **answers))
        return None

    return run


def _ask(
    modeladmin: Any,
    request: HttpRequest,
    action: panels.Action,
    sentences: Sequence[str],
    form: BaseForm | None,
) -> HttpResponse:
    posted = [
        (name, value)
        for name, values in request.POST.lists()
        for value in values
        if name not in ("csrfmiddlewaretoken", "confirmed") and not name.startswith(f"{PREFIX}-")
    ]
    key = request.POST.get("_on_page", "")
    context = {
        **modeladmin.admin_site.each_context(request),
        "title": action.title,
        "opts": modeladmin.opts,
        "sentences": sentences,
        "posted": posted,
        "form": form,
        "is_dangerous": action.is_dangerous,
        "media": modeladmin.media,
        "back": modeladmin.page_url(key) if key else request.get_full_path(),
    }
    return TemplateResponse(request, "admin/confirm_action.html", context)
