import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from common.body_limits import takes_body
from common.clock import utcnow
from common.net.web_slots import RETRY_AFTER_SECONDS, ServerBusy
from common.rates import Limit, count_within
from common.refused import Refused
from reader.channels.channels import NoSuchChannel
from reader.indieauth.endpoints import OPEN_TO_ALL
from reader.indieauth.foreign import CannotAsk, OfSomebodyElse, foreign_token
from reader.microsub.actions import Call, answer
from reader.microsub.items import (
    ApiError,
    Json,
    channel_json,
    invalid,
    item,
    not_found,
    unauthorized,
    unavailable,
    unread_json,
)
from reader.models import Token
from reader.people.readers import may_read, note_seen, reading
from reader.people.tokens import token_of
from reader.rules.parameters import MAX_BODY, READ, Parameters, read_parameters
from reader.streams.stream import (
    STREAM_HEADERS,
    TRIES_AGAIN_AFTER,
    UNREAD_COUNT,
    Event,
    Stream,
    TooManyStreams,
)

log = logging.getLogger(__name__)

EVENTS = "events"
MICROSUB_CALLS = Limit("microsub-calls", 600)


@csrf_exempt
@takes_body(None)
def microsub(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Answer in JSON, since clients parse every body; only events are a stream."""
    if request.method == "OPTIONS":
        return HttpResponse(status=HTTPStatus.NO_CONTENT, headers=OPEN_TO_ALL)
    try:
        return _answer(request, slug)
    except ApiError as error:
        return _refusal(error)
    except NoSuchChannel as error:
        return _refusal(not_found(str(error)))
    except Refused as error:
        return _refusal(invalid(str(error)))
    except ValidationError as error:
        return _refusal(invalid(" ".join(error.messages)))
    except ServerBusy as error:
        return _refusal(unavailable(error, RETRY_AFTER_SECONDS))
    except Exception:
        log.exception("a Microsub request failed", extra={"reader": slug})
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        return _refusal(ApiError(status, "server_error", "An error occurred on our side. Try again later."))


def _answer(request: HttpRequest, slug: str) -> HttpResponseBase:
    if request.method not in ("GET", "HEAD", "POST"):
        allowed = {"Allow": "GET, POST, OPTIONS"}
        message = "Ask with GET, change with POST."
        raise ApiError(HTTPStatus.METHOD_NOT_ALLOWED, "invalid_request", message, headers=allowed)
    given = _parameters(request)
    token = _token(request, slug, given)
    if not count_within((MICROSUB_CALLS, token.digest)):
        raise ApiError(
            HTTPStatus.TOO_MANY_REQUESTS,
            "too_many_requests",
            f"A client can make at most {MICROSUB_CALLS.most} requests a minute.",
            headers={"Retry-After": str(MICROSUB_CALLS.seconds)},
        )
    note_seen(reader=token.reader, now=utcnow())
    call = Call(token, given, utcnow())
    if request.method == "GET" and given.one("action") == EVENTS:
        return _stream(request, slug, call)
    return _json(answer(call, is_post=request.method == "POST"))


def _stream(request: HttpRequest, slug: str, call: Call) -> HttpResponseBase:
    def is_allowed() -> bool:
        try:
            return READ in _token(request, slug, call.given).scopes
        except ApiError:
            return False

    call.require(READ)
    try:
        body = Stream(
            request, call.reader, say=lambda event: data_of(event, call.token), is_allowed=is_allowed
        )
    except TooManyStreams as error:
        raise unavailable(error, TRIES_AGAIN_AFTER) from error
    return StreamingHttpResponse(body, headers={**OPEN_TO_ALL, **STREAM_HEADERS})


def data_of(event: Event, token: Token) -> Json:
    """Return a post as in the timeline `global`, or channels."""
    if event.place is not None:
        return item(event.place, is_read=not event.is_unread, token=token, in_all=True)
    if event.name == UNREAD_COUNT:
        ((channel, count),) = event.channels
        return {"channel": channel.uid, **unread_json(channel, count)}
    return {"channels": [channel_json(*line) for line in event.channels]} if event.channels else {}


def _parameters(request: HttpRequest) -> Parameters:
    length = request.META.get("CONTENT_LENGTH") or "0"
    if "HTTP_TRANSFER_ENCODING" in request.META and length == "0":
        raise ApiError(HTTPStatus.LENGTH_REQUIRED, "invalid_request", "The Content-Length header is missing.")
    if not length.isdecimal() or int(length) > MAX_BODY:
        raise ApiError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "invalid_request",
            f"The body is larger than {MAX_BODY:,} bytes.",
        )
    body = request.body if request.method == "POST" else b""
    return read_parameters(
        query=request.META.get("QUERY_STRING", ""),
        body=body,
        content_type=request.headers.get("Content-Type", ""),
    )


def _token(request: HttpRequest, slug: str, given: Parameters) -> Token:
    """Accept it in the header, or in a form (RFC 6750 §2.2). Raises ApiError."""
    scheme, _, shown = request.headers.get("Authorization", "").partition(" ")
    in_header = shown.strip() if scheme.lower() == "bearer" else ""
    in_query = "access_token=" in request.META.get("QUERY_STRING", "")
    in_body = "" if in_query else given.one("access_token")
    if in_query or (in_header and in_body):
        raise invalid("Send the token once, in the Authorization header or the form, not in the address.")
    key = in_header or in_body
    if not key:
        raise unauthorized("Send a token: Authorization: Bearer …")
    token = token_of(key=key, now=utcnow()) or _token_of_own_site(slug, key)
    if token is None or not may_read(token.reader):
        raise unauthorized("The token is unknown or was revoked.", "invalid_token")
    if token.reader.slug != slug:
        raise _of_somebody_else()
    return token


def _token_of_own_site(slug: str, key: str) -> Token | None:
    """Raises ApiError."""
    reader = reading(slug=slug)
    if reader is None:
        return None
    try:
        return foreign_token(reader=reader, key=key, now=utcnow())
    except OfSomebodyElse as error:
        raise _of_somebody_else() from error
    except CannotAsk as error:
        raise unavailable(error, error.seconds) from error


def _of_somebody_else() -> ApiError:
    return ApiError(HTTPStatus.FORBIDDEN, "forbidden", "The token belongs to someone else.")


def _refusal(error: ApiError) -> HttpResponse:
    about = {"error": error.code, "error_description": str(error), **error.more}
    return _json(about, status=error.status, headers=error.headers)


def _json(
    body: Json, *, status: int = HTTPStatus.OK, headers: Mapping[str, Any] | None = None
) -> HttpResponse:
    return JsonResponse(body, status=status, headers={**OPEN_TO_ALL, **(headers or {})})
