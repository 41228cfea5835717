"""Pictures of posts, for pages and for clients: whoever has such an address got it from us."""

from http import HTTPStatus

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from reader.media.addresses import stamped_url
from reader.media.pictures import Busy, key_of, picture_at
from reader.people.readers import OFF

HEADERS = {
    "Cache-Control": "public, max-age=604800, immutable",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Content-Disposition": "inline",
    "X-Content-Type-Options": "nosniff",
    # Clients in browsers stand at addresses of their own.
    "Cross-Origin-Resource-Policy": "cross-origin",
}


@require_safe
def media(request: HttpRequest, mac: str, packed: str) -> HttpResponse:
    """403 for an address that we did not make, 404 for what is no picture."""
    if settings.READER == OFF:
        raise Http404("Reading is switched off.")
    url = stamped_url(mac, packed)
    if url is None:
        return HttpResponse(status=HTTPStatus.FORBIDDEN)
    etag = f'"{key_of(url)[:32]}"'
    if request.headers.get("If-None-Match") == etag:
        return HttpResponse(status=HTTPStatus.NOT_MODIFIED, headers={**HEADERS, "ETag": etag})
    try:
        picture = picture_at(url)
    except Busy:
        again = {"Retry-After": "5", "Cache-Control": "no-store"}
        return HttpResponse(status=HTTPStatus.SERVICE_UNAVAILABLE, headers=again)
    if picture is None:
        return HttpResponse(status=HTTPStatus.NOT_FOUND, headers={"Cache-Control": "public, max-age=600"})
    return HttpResponse(picture.body, content_type=picture.type, headers={**HEADERS, "ETag": etag})
