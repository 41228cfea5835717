"""Uploaded pictures, for browsers and mail programs."""

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.views.decorators.http import require_safe

from subscriptions.branding.pictures import served_picture

# A name stands for the same octets for ever.
FOR_EVER = "public, max-age=31536000, immutable"
# It runs nothing, should a browser ever take it for a page, and other sites (web mail) may show it.
HEADERS = {
    "Cache-Control": FOR_EVER,
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "X-Content-Type-Options": "nosniff",
}


@require_safe
def picture(request: HttpRequest, name: str) -> HttpResponse:
    """A picture under its hash; 304 for whoever has it."""
    try:
        found = served_picture(name)
    except LookupError:
        raise Http404 from None
    etag = quote_etag(name.partition(".")[0])
    response = get_conditional_response(request, etag, None)
    if response is None:
        response = HttpResponse(found.data, content_type=found.media_type)
    response.headers["ETag"] = etag
    for header, value in HEADERS.items():
        response.headers[header] = value
    return response
