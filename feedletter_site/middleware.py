"""Who the client is, if a trusted proxy says so; which hosts are ours; how much a request may send."""

import ipaddress
import logging
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.files.uploadhandler import MemoryFileUploadHandler, TemporaryFileUploadHandler
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import translation
from django.utils.cache import patch_vary_headers

from common.api.problems import MEDIA_TYPE
from common.body_limits import MAX_FORM_BYTES, limit_of
from common.languages import asked_for
from common.net.addresses import read_address
from common.net.web_slots import RETRY_AFTER_SECONDS, ServerBusy, web_request
from common.text import one_line, shortened
from feedletter_site.env import Network

log = logging.getLogger(__name__)

LONGEST_HOST = 100
HOST_LOG_SECONDS = 60.0
ADMIN_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' https: http: data:",
        "media-src https: http:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "frame-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
# In request.META: whether the request had X-Forwarded-For, which is removed before any view.
CAME_FORWARDED = "feedletter.came_forwarded"
# Staff may send this much to any page: a template or a theme is longer than a reader's form.
STAFF = 2 * 1024 * 1024
REFUSED = {
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is larger than what this address takes.",
    HTTPStatus.LENGTH_REQUIRED: "Say how long the body is (Content-Length).",
}


def client_address(remote: str, forwarded_for: str, trusted: list[Network]) -> str:
    """The nearest address that is not a trusted proxy, reading X-Forwarded-For from the right.

    Some proxies add the port. At a part that is no address ("unknown") it stops, with the address before.
    """
    address = remote
    for hop in reversed([part for part in forwarded_for.split(",") if part.strip()]):
        known = read_address(hop)
        if known is None or not is_trusted(address, trusted):
            break
        address = str(known)
    return address


def is_trusted(address: str, trusted: list[Network]) -> bool:
    try:
        return any(ipaddress.ip_address(address) in network for network in trusted)
    except ValueError:
        return False


class Middleware:
    """One of Django's: it is called with each request, and `get_response` asks the next."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response


class HeadMiddleware:
    """Answers HEAD without a body (RFC 9110 §9.3.2). Otherwise gunicorn drops each body with a warning."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.method == "HEAD":
            if isinstance(response, StreamingHttpResponse):
                response.streaming_content = ()
            elif isinstance(response, HttpResponse):
                # Content-Length stays that of the body that GET gets.
                response.content = b""
        return response


class ProxyMiddleware(Middleware):
    """Applies X-Forwarded-For and -Proto from TRUSTED_PROXIES; drops them from anyone else."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.META[CAME_FORWARDED] = "HTTP_X_FORWARDED_FOR" in request.META
        forwarded_for = request.META.pop("HTTP_X_FORWARDED_FOR", "")
        proto = request.META.pop("HTTP_X_FORWARDED_PROTO", "")
        remote = request.META.get("REMOTE_ADDR", "")
        if is_trusted(remote, settings.TRUSTED_PROXIES):
            request.META["REMOTE_ADDR"] = client_address(remote, forwarded_for, settings.TRUSTED_PROXIES)
            if proto in {"http", "https"}:
                request.META["wsgi.url_scheme"] = proto
        return self.get_response(request)


class AdminPolicyMiddleware(Middleware):
    """Lets the admin's pages load and run our own files only, and no script within a page (CSP 3).

    They show letters and posts of strangers. Alpine, which Unfold is made with, needs eval.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.path_info.startswith(("/admin/", "/setup/")):
            response.headers.setdefault("Content-Security-Policy", ADMIN_POLICY)
        return response


class HostMiddleware(Middleware):
    """Answers a request for another host with a sentence, and logs a line a minute at most.

    Django would log a traceback for each, and strangers send many.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        super().__init__(get_response)
        self._refused, self._log_from = 0, 0.0

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            request.get_host()
        except DisallowedHost:
            host = shortened(one_line(request.META.get("HTTP_HOST", "")), LONGEST_HOST)
            self._refused += 1
            if time.monotonic() >= self._log_from:
                more = f" ({self._refused} such requests)" if self._refused > 1 else ""
                log.warning(
                    "A request for the host %r was refused%s: it is not in ALLOWED_HOSTS.", host, more
                )
                self._refused, self._log_from = 0, time.monotonic() + HOST_LOG_SECONDS
            words = "This host is not served here. (ALLOWED_HOSTS names those that are.)\n"
            response = HttpResponse(words, status=HTTPStatus.BAD_REQUEST, content_type="text/plain")
            response._has_been_logged = True  # type: ignore[attr-defined]
            return response
        return self.get_response(request)


class WebSlotMiddleware(Middleware):
    """Limits how many requests wait for other people's servers at a time; the others are answered 503."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with web_request():
            response = self.get_response(request)
        if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE and "Retry-After" in response:
            # An answer by design, such as to a client that asks for one stream too many: no error to log.
            response._has_been_logged = True  # type: ignore[attr-defined]
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, ServerBusy):
            return None
        response = render(request, "503.html", status=HTTPStatus.SERVICE_UNAVAILABLE)
        response["Retry-After"] = str(RETRY_AFTER_SECONDS)
        return response


class BodyLimitMiddleware(Middleware):
    """Refuses a body that is larger than its view takes, before any of it is read (RFC 9110, 15.5.14).

    Files are written to the disk only by views that ask for one: for staff, or for whoever is signed in. Any
    other view drops them, because FILE_UPLOAD_HANDLERS is empty.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, *_: Any) -> HttpResponse | None:
        limit = limit_of(view)
        if limit.largest is None:
            return None
        if "HTTP_TRANSFER_ENCODING" in request.META and not request.META.get("CONTENT_LENGTH"):
            return refusal(request, HTTPStatus.LENGTH_REQUIRED)
        length = content_length(request)
        if length <= MAX_FORM_BYTES and not limit.files:
            # Here it does not matter who asks, so no user is looked up.
            return None
        largest = MAX_FORM_BYTES if limit.files else limit.largest
        if request.user.is_staff:
            largest = max(limit.largest, STAFF)
        if request.user.is_staff or (limit.for_users and request.user.is_authenticated):
            largest = max(limit.largest, largest)
            if limit.files:
                request.upload_handlers = [
                    MemoryFileUploadHandler(request),
                    TemporaryFileUploadHandler(request),
                ]
        return refusal(request, HTTPStatus.REQUEST_ENTITY_TOO_LARGE) if length > largest else None


def content_length(request: HttpRequest) -> int:
    """As Django reads it: what is no number counts as 0, and then nothing is read."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


def refusal(request: HttpRequest, status: HTTPStatus) -> HttpResponse:
    """A page for people, a problem (RFC 9457) for programs."""
    if not request.path.startswith("/api/"):
        return render(request, "413.html", status=status)
    body = {"type": "about:blank", "title": status.phrase, "status": status, "detail": REFUSED[status]}
    return JsonResponse(body, status=status, content_type=MEDIA_TYPE)


ENGLISH = ("/admin/", "/api/", "/mailbox/", "/setup/", "/metrics", "/healthz", "/readyz", "/anymail/")


class LanguageMiddleware(Middleware):
    """Speaks what the browser asks for, unless a page knows its reader better (subscriptions.views.pages).

    No cookie and no address chooses: a link in a letter is the same for everybody.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(ENGLISH):
            with translation.override(settings.LANGUAGE_CODE):
                return self.get_response(request)
        with translation.override(asked_for(request)):
            response = self.get_response(request)
            if response.headers.get("Content-Type", "").startswith("text/html"):
                response.headers.setdefault("Content-Language", translation.get_language() or "")
                patch_vary_headers(response, ["Accept-Language"])
        return response
