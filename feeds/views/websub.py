"""The callback that hubs know (W3C WebSub): GET verifies what we asked for, POST brings what is new.

Its address is the key: nobody but the hub knows it, and there are no cookies.
"""

from typing import IO

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.body_limits import takes_body
from common.clock import utcnow
from common.net.client import MAX_BYTES
from common.text import one_line
from feeds.hubs.callbacks import confirm, find, takes_pushes
from feeds.hubs.maintain import hear

MAX_CHALLENGE = 2_000
MAX_PUSH_HEADER = 200
BYTES_AT_A_TIME = 64 * 1024


@takes_body(None)
@csrf_exempt
@require_http_methods(["GET", "POST"])
def websub(request: HttpRequest, token: str) -> HttpResponse:
    """What a hub asks or brings. GET changes something here, as the specification says."""
    response = _verify(request, token) if request.method == "GET" else _push(request, token)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["X-Robots-Tag"] = "noindex"
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    # Django logs the path of a 4xx answer, and here that is a key.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


def _verify(request: HttpRequest, token: str) -> HttpResponse:
    said = {name: request.GET.get(f"hub.{name}", "") for name in ("mode", "topic", "challenge", "reason")}
    challenge = "" if said["mode"] == "denied" else said["challenge"]
    is_whole = bool(challenge) or said["mode"] == "denied"
    if not is_whole or len(challenge) > MAX_CHALLENGE:
        return _text("There is nothing to verify.", 404)
    agreed = confirm(
        token=token,
        mode=said["mode"],
        topic=said["topic"],
        lease=request.GET.get("hub.lease_seconds", ""),
        reason=said["reason"],
        now=utcnow(),
    )
    return _text(challenge) if agreed else _text("We did not ask for that.", 404)


def _push(request: HttpRequest, token: str) -> HttpResponse:
    moment = utcnow()
    subscription = find(token)
    if subscription is None or not takes_pushes(subscription):
        # "… to indicate that the subscription has been deleted" (WebSub, 7).
        return _text("This subscription has ended.", 410)
    body = read_body(request)
    if body is None:
        return _text(f"At most {MAX_BYTES:,} bytes are taken.", 413)
    hear(
        subscription=subscription,
        signature=request.headers.get("X-Hub-Signature", "")[:MAX_PUSH_HEADER],
        body=body,
        content_type=one_line(request.headers.get("Content-Type", ""))[:MAX_PUSH_HEADER],
        moment=moment,
    )
    # That it has arrived is all that a hub needs to know.
    return _text("Thank you.", 202)


def read_body(request: HttpRequest) -> bytes | None:
    """The body as it came, counted while it is read; None when it is too large."""
    stream: IO[bytes] = request  # type: ignore[assignment]
    if request.META.get("wsgi.input_terminated") and not request.META.get("CONTENT_LENGTH"):
        # Sent in chunks: Django, which goes by Content-Length, would see nothing.
        stream = request.META["wsgi.input"]
    body = bytearray()
    while chunk := stream.read(BYTES_AT_A_TIME):
        body += chunk
        if len(body) > MAX_BYTES:
            return None
    return bytes(body)


def _text(words: str, status: int = 200) -> HttpResponse:
    return HttpResponse(words, status=status, content_type="text/plain; charset=utf-8")
