"""View for apps of Google Reader.

ClientLogin exchanges a password for a key that authorizes calls. Cookies are ignored.
"""

import logging
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from http import HTTPStatus

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.cache import get_conditional_response, set_response_etag
from django.views.decorators.csrf import csrf_exempt

from common.body_limits import takes_body
from common.clock import utcnow
from common.net.web_slots import RETRY_AFTER_SECONDS, ServerBusy
from common.rates import Limit, count_within
from common.refused import Refused
from reader.greader import posts, subscriptions
from reader.greader.app_call import (
    MOST_POSTS,
    Answer,
    AppCall,
    CallError,
    bad_request,
    show_user,
    signed_out,
    unknown,
)
from reader.models import AppPassword
from reader.people.readers import may_read, note_seen
from reader.people.tokens import TooManyWrong, key_for, password_of, sign_in, token_for
from reader.rules.parameters import Parameters, read_parameters

log = logging.getLogger(__name__)

Step = Callable[[AppCall], Answer]
QUESTIONS: Mapping[str, Step] = {
    # Liferea sends it in POSTs instead of the header.
    "token": lambda call: token_for(call.password),
    "user-info": show_user,
    "tag/list": subscriptions.list_tags,
    "subscription/list": subscriptions.list_subscriptions,
    "subscription/export": subscriptions.export_subscriptions,
    "unread-count": posts.count_unread,
    "stream/items/ids": posts.list_ids,
    "stream/items/contents": posts.show_posts,
    "stream/contents": posts.show_stream,
    "preference/list": lambda _: {"prefs": []},
    "preference/stream/list": lambda _: {"streamprefs": {}},
    "friend/list": lambda _: {"friends": []},
}
CHANGES: Mapping[str, Step] = {
    "edit-tag": posts.edit_tag,
    "mark-all-as-read": posts.mark_stream_read,
    "subscription/edit": subscriptions.edit_subscription,
    "subscription/quickadd": subscriptions.quick_add,
    "subscription/import": subscriptions.import_subscriptions,
    "rename-tag": subscriptions.rename_tag,
    "disable-tag": subscriptions.disable_tag,
    "preference/set": lambda _: "OK",
    "preference/stream/set": lambda _: "OK",
}
XML_CALLS = frozenset({"subscription/export"})
# Bodies are files, whatever their Content-Type.
FILE_CALLS = frozenset({"subscription/import"})
# With ETags.
SELDOM_CHANGED = frozenset({"tag/list", "subscription/list"})
LARGEST_CALL = 1_000_000
APP_CALLS = Limit("app-calls", 1_500)
LOGIN, PREFIX, STREAM = "accounts/ClientLogin", "reader/api/0/", "stream/contents"
MOST_VALUES = MOST_POSTS + 50
IN_EVERY_ANSWER = {
    # Apps in browsers have other origins.
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "Authorization, Content-Type",
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Max-Age": "86400",
    "Cache-Control": "no-store",
}
_SLASHES = re.compile("/{2,}")
_AUTHORIZATION = re.compile(r"GoogleLogin\s+auth=\"?([^\s\"]+)\"?", re.IGNORECASE)


@csrf_exempt
@takes_body(LARGEST_CALL)
def greader(request: HttpRequest, call: str) -> HttpResponse:
    """Answer without pages or redirects, as apps understand neither."""
    if request.method == "OPTIONS":
        return HttpResponse(status=HTTPStatus.NO_CONTENT, headers=IN_EVERY_ANSWER)
    try:
        return _answer(request, call.lstrip("/"), utcnow())
    except CallError as error:
        return _text(str(error), status=error.status, headers=error.headers)
    except TooManyWrong as error:
        return _text(str(error), status=HTTPStatus.TOO_MANY_REQUESTS, headers={"Retry-After": "3600"})
    except Refused as error:
        return _text(str(error), status=HTTPStatus.BAD_REQUEST)
    except ValidationError as error:
        return _text(" ".join(error.messages), status=HTTPStatus.BAD_REQUEST)
    except ServerBusy as error:
        wait = {"Retry-After": str(RETRY_AFTER_SECONDS)}
        return _text(str(error), status=HTTPStatus.SERVICE_UNAVAILABLE, headers=wait)
    except Exception:
        log.exception("an app's request failed", extra={"call": call[:100]})
        status = HTTPStatus.INTERNAL_SERVER_ERROR
        return _text("An error occurred on our side. Try again later.", status=status)


def _answer(request: HttpRequest, call: str, now: datetime) -> HttpResponse:
    if request.method not in ("GET", "HEAD", "POST"):
        raise _wrong_method("GET, POST, OPTIONS")
    if not call:
        return _text("OK")
    if call == LOGIN:
        return _sign_in(request)
    name, rest = _name_of(call)
    if name in CHANGES and request.method != "POST":
        raise _wrong_method("POST, OPTIONS")
    is_file = name in FILE_CALLS
    password, given = _signed_in(request, now, is_file=is_file)
    act = QUESTIONS.get(name) or CHANGES[name]
    call_made = AppCall(password, given, now, rest, request.body if is_file else b"")
    answer = act(call_made)
    if name in XML_CALLS:
        return HttpResponse(
            str(answer), content_type="application/xml; charset=utf-8", headers=IN_EVERY_ANSWER
        )
    return _response(request, answer, is_tagged=name in SELDOM_CHANGED)


def _name_of(call: str) -> tuple[str, str]:
    """Return the call and its stream. Apps may add slashes before it. Raises CallError."""
    before, slash, stream = call.partition(f"{STREAM}/")
    name = _SLASHES.sub("/", before) + (STREAM if slash else "")
    known = name.removeprefix(PREFIX).rstrip("/") if name.startswith(PREFIX) else ""
    if known not in QUESTIONS and known not in CHANGES:
        raise unknown("Unknown call.")
    return known, stream


def _sign_in(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        raise _wrong_method("POST, OPTIONS")
    given = _parameters(request)
    name, password = given.one("Email"), given.one("Passwd")
    if not name or not password:
        raise bad_request("Send your name as Email and an app password as Passwd.")
    row = sign_in(name=name, password=password, ip=str(request.META.get("REMOTE_ADDR", "")))
    if row is None or not may_read(row.reader):
        raise CallError(HTTPStatus.UNAUTHORIZED, "Error=BadAuthentication")
    key = key_for(row)
    values = {"SID": key, "LSID": key, "Auth": key}
    if given.one("output") == "json":
        return JsonResponse(values, headers=IN_EVERY_ANSWER)
    return _text("".join(f"{name}={value}\n" for name, value in values.items()))


def _signed_in(request: HttpRequest, now: datetime, *, is_file: bool) -> tuple[AppPassword, Parameters]:
    """Authorize by a key in the header, or in `T` of a form. Raises CallError and BadParameters."""
    header = request.headers.get("Authorization", "").strip()
    match = _AUTHORIZATION.fullmatch(header)
    if match is None and (header or is_file or request.method != "POST"):
        raise signed_out()
    given = None if match else _parameters(request)
    key = match[1] if match else given.one("T") if given else ""
    password = password_of(key=key, now=now)
    if password is None or not may_read(password.reader):
        raise signed_out()
    note_seen(reader=password.reader, now=now)
    if not count_within((APP_CALLS, str(password.pk))):
        message = f"An app can make at most {APP_CALLS.most:,} requests a minute."
        raise CallError(HTTPStatus.TOO_MANY_REQUESTS, message, headers={"Retry-After": "60"})
    return password, given or _parameters(request, is_file)


def _parameters(request: HttpRequest, is_file: bool = False) -> Parameters:
    """Raises BadParameters."""
    return read_parameters(
        query=request.META.get("QUERY_STRING", ""),
        body=request.body if request.method == "POST" and not is_file else b"",
        content_type=request.headers.get("Content-Type", ""),
        most=MOST_VALUES,
    )


def _response(request: HttpRequest, answer: Answer, *, is_tagged: bool) -> HttpResponse:
    if isinstance(answer, str):
        return _text(answer)
    response = JsonResponse(answer, headers=IN_EVERY_ANSWER, json_dumps_params={"ensure_ascii": False})
    if not is_tagged:
        return response
    set_response_etag(response)
    unchanged: HttpResponse | None = get_conditional_response(request, response["ETag"], response=response)
    return unchanged or response


def _wrong_method(allowed: str) -> CallError:
    message = "Ask with GET, change with POST."
    return CallError(HTTPStatus.METHOD_NOT_ALLOWED, message, headers={"Allow": allowed})


def _text(
    text: str, *, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    merged = {**IN_EVERY_ANSWER, **(headers or {})}
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8", headers=merged)
