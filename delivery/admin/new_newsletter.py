"""Live preview beside the form of a new newsletter."""

from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString

from common.clock import utcnow
from delivery.admin.look import MADE_UP
from delivery.customisation import theme_of
from delivery.letters.preview import Preview, preview_look
from delivery.views.preview import as_json
from subscriptions.forms.admin import stored_fields, subscribable_form
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import define_subscribable

NO_FEEDS = "Choose a feed to see an email with its posts."


def new_preview(_newsletter: None, request: HttpRequest) -> SafeString:
    """Return the panel, which the script fills."""
    context = {
        "show_url": reverse("admin:delivery_new_show"),
        "shown": Preview(),
        "frames": {"day": "", "night": ""},
        "said": "",
        "is_new": True,
    }
    return render_to_string("admin/delivery/look.html", context)


def new_newsletter_view(request: HttpRequest) -> HttpResponse:
    """Return the preview as JSON."""
    if not request.user.has_perm("subscriptions.add_subscribable"):
        raise PermissionDenied
    form: Any = subscribable_form()(request.POST, instance=Subscribable())
    if not form.is_valid():
        return JsonResponse({"note": _why(form), "pictures": {}, "waits": True})
    try:
        answer = _shown(form)
    except ValidationError as error:
        answer = {"note": " ".join(error.messages), "waits": True}
    return JsonResponse({**answer, "pictures": {}})


def _why(form: Any) -> str:
    if "feeds" in form.errors:
        return NO_FEEDS
    return " ".join(
        f"{form.fields[name].label if name in form.fields else 'Newsletter'}: {' '.join(errors)}"
        for name, errors in form.errors.items()
    )


def _shown(form: Any) -> dict[str, Any]:
    """Create it, show its next issue, and roll back. Raises ValidationError."""
    with transaction.atomic():
        newsletter = define_subscribable(feeds=list(form.cleaned_data["feeds"]), **stored_fields(form))
        shown = preview_look(subscribable=newsletter, theme=theme_of(newsletter), now=utcnow())
        answer = as_json(shown, newsletter, MADE_UP if shown.is_made_up else "")
        transaction.set_rollback(True)
    return answer
