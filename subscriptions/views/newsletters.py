"""The public list."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from common import kinds
from subscriptions.models import Subscribable
from subscriptions.views.rhythm import rhythm
from subscriptions.views.security import page

MOST = 200


@require_safe
@page
def newsletters(request: HttpRequest) -> HttpResponse:
    """Everything public that readers can subscribe to."""
    channels = [kind.key for kind in kinds.all_kinds() if kind.public_sign_up]
    listed = Subscribable.objects.listed().filter(channel__in=channels).order_by("title", "name")[:MOST]
    entries = [{"newsletter": one, "rhythm": rhythm(one)} for one in listed]
    return render(request, "pages/newsletters.html", {"entries": entries})
