"""The callback of hubs. Its address is secret; there are no cookies."""

from typing import IO

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.body_limits import takes_body
from common.clock import utcnow
from common.net.client import MAX_BYTES
from common.text import one_line
from feeds.hubs.callbacks import confirm, find
from feeds.hubs.subscriptions import hear
from feeds.rules.websub import TAKES_PUSHES

MAX_CHALLENGE = 2_000
MAX_PUSH_HEADER = 200
BYTES_AT_A_TIME = 64 * 1024


@takes_body(None)
@csrf_exempt
@require_http_methods(["GET", "POST"])
def websub(request: HttpRequest, token: str) -> HttpResponse:
    """GET verifies a request of ours and changes state, as specified. POST is a push."""
    response = _verify(request, token) if request.method == "GET" else _push(request, token)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["X-Robots-Tag"] = "noindex"
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    # Django logs the path of a 4xx answer, which is secret here.
    response._has_been_logged = True  # type: ignore[attr-defined]
    return response


def _verify(request: HttpRequest, token: str) -> HttpResponse:
    parameters = {
        name: request.GET.get(f"hub.{name}", "") for name in ("mode", "topic", "challenge", "reason")
    }
    challenge = "" if parameters["mode"] == "denied" else parameters["challenge"]
    is_whole = bool(challenge) or parameters["mode"] == "denied"
    if not is_whole or len(challenge) > MAX_CHALLENGE:
        return _text("There is nothing to verify.", 404)
    agreed = confirm(
        token=token,
        mode=parameters["mode"],
        topic=parameters["topic"],
        lease=request.GET.get("hub.lease_seconds", ""),
        reason=parameters["reason"],
        now=utcnow(),
    )
    return _text(challenge) if agreed else _text("We did not ask for that.", 404)


def _push(request: HttpRequest, token: str) -> HttpResponse:
    moment = utcnow()
    subscription = find(token)
    if subscription is None or subscription.feed_id is None or subscription.state not in TAKES_PUSHES:
        # WebSub §7.
        return _text("This subscription has ended.", 410)
    body = read_body(request)
    if body is None:
        return _text(f"At most {MAX_BYTES:,} bytes are accepted.", 413)
    hear(
        subscription=subscription,
        signature=request.headers.get("X-Hub-Signature", "")[:MAX_PUSH_HEADER],
        body=body,
        content_type=one_line(request.headers.get("Content-Type", ""))[:MAX_PUSH_HEADER],
        moment=moment,
    )
    return _text("Thank you.", 202)


def read_body(request: HttpRequest) -> bytes | None:
    """Return None if it is too large."""
    stream: IO[bytes] = request  # type: ignore[assignment]
    if request.META.get("wsgi.input_terminated") and not request.META.get("CONTENT_LENGTH"):
        # Django reads only Content-Length bytes, none of a chunked body.
        stream = request.META["wsgi.input"]
    body = bytearray()
    while chunk := stream.read(BYTES_AT_A_TIME):
        body += chunk
        if len(body) > MAX_BYTES:
            return None
    return bytes(body)


def _text(words: str, status: int = 200) -> HttpResponse:
    return HttpResponse(words, status=status, content_type="text/plain; charset=utf-8")
