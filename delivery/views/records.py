"""Proof that a newsletter's records are its own (https://standard.site/docs/verification)."""

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from delivery.bridges.records import KEY, records_of
from delivery.views.issues import newsletter_or_404
from subscriptions.models import Subscribable


@require_safe
@cache_control(public=True, max_age=300)
def publication(request: HttpRequest, name: str = "") -> HttpResponse:
    """Return the address of a newsletter's record. Without a name, of the only one that has any."""
    if name:
        newsletter = newsletter_or_404(name)
    else:
        rows = Subscribable.objects.with_pages().filter(companions__contains=KEY)[:2]
        if len(rows) != 1:
            raise Http404
        newsletter = rows[0]
    uri = records_of(newsletter).publication
    if not uri:
        raise Http404
    return HttpResponse(uri, content_type="text/plain; charset=utf-8")
