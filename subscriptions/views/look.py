"""Colours as a stylesheet, because the pages' policy allows no styles in the page."""

import hashlib

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from subscriptions.branding.site import site_facts
from subscriptions.rules.colours import stylesheet

# So long a browser may show the colours of before.
LOOK_KEPT_SECONDS = 60


@require_safe
def site_look(request: HttpRequest) -> HttpResponse:
    """By day and by night; empty where no accent was chosen."""
    return as_stylesheet(request, stylesheet(site_facts().accent))


def as_stylesheet(request: HttpRequest, styles: str) -> HttpResponse:
    """The answer; 304 for whoever has it."""
    etag = quote_etag(hashlib.sha256(styles.encode()).hexdigest()[:32])
    response = get_conditional_response(request, etag, None)
    if response is None:
        response = HttpResponse(styles, content_type="text/css; charset=utf-8")
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = f"public, max-age={LOOK_KEPT_SECONDS}"
    return response
