import logging
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.files.uploadhandler import MemoryFileUploadHandler, TemporaryFileUploadHandler
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers

from common.api.problems import MEDIA_TYPE
from common.body_limits import MAX_FORM_BYTES, limit_of
from common.languages import asked_for
from common.net.addresses import CLAIMED, FORWARDED_FOR, NEAR, is_near, is_within, read_address
from common.net.web_slots import RETRY_AFTER_SECONDS, ServerBusy, web_request
from common.text import one_line, shortened
from feedletter_site.env import Network
from feedletter_site.services.password_limits import remember_browser
from reader.pages.access import policy_to_own_sites, reading_page
from subscriptions.branding.brands import admin_zone
from subscriptions.subscribers.antispam import note_proxy

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
LOOPBACK = "127.0.0.1"
# Whether the request had X-Forwarded-For, which is removed before any view.
CAME_FORWARDED = "feedletter.came_forwarded"
# For any page: templates and themes are long.
STAFF = 2 * 1024 * 1024
REFUSED = {
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is larger than this URL accepts.",
    HTTPStatus.LENGTH_REQUIRED: "Give the length of the body (Content-Length).",
}
ENGLISH = (
    *("/admin/", "/api/", "/mailbox/", "/setup/", "/join/"),
    *("/metrics", "/healthz", "/readyz", "/anymail/"),
)


def client_address(remote: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """Return the nearest address that is not a trusted proxy, from the right of X-Forwarded-For.

    Some proxies add the port. It stops before a part that is no address ("unknown").
    """
    address = remote
    for hop in reversed([part for part in forwarded.split(",") if part.strip()]):
        known = read_address(hop)
        if known is None or not is_within(address, trusted):
            break
        address = str(known)
    return address


class Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response


class HeadMiddleware(Middleware):
    """Remove bodies from answers to HEAD (RFC 9110 §9.3.2); gunicorn would warn of each."""

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = self.get_response(request)
        if request.method == "HEAD":
            if isinstance(response, StreamingHttpResponse):
                response.streaming_content = ()
            elif isinstance(response, HttpResponse):
                # Content-Length stays that of GET.
                response.content = b""
        return response


class ProxyMiddleware(Middleware):
    """Apply X-Forwarded-For and -Proto from TRUSTED_PROXIES, and drop them for other clients."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.META[CAME_FORWARDED] = "HTTP_X_FORWARDED_FOR" in request.META
        forwarded = request.META.pop("HTTP_X_FORWARDED_FOR", "")
        proto = request.META.pop("HTTP_X_FORWARDED_PROTO", "")
        # A socket for IPv6 and IPv4 maps the latter.
        remote = request.META["REMOTE_ADDR"] = request.META.get("REMOTE_ADDR", "").removeprefix("::ffff:")
        if is_within(remote, settings.TRUSTED_PROXIES):
            request.META["REMOTE_ADDR"] = client_address(remote, forwarded, settings.TRUSTED_PROXIES)
            if proto in {"http", "https"}:
                request.META["wsgi.url_scheme"] = proto
        if is_near(client := request.META.get("REMOTE_ADDR", "")):
            # Perhaps an undeclared proxy. It may listen on a Unix socket, which has no address.
            named = forwarded or ",".join(FORWARDED_FOR.findall(request.META.get("HTTP_FORWARDED", "")))
            named = named or request.META.get("HTTP_X_REAL_IP", "")
            claimed = client_address(remote or LOOPBACK, named, (*NEAR, *settings.TRUSTED_PROXIES))
            if claimed != (client or LOOPBACK):
                note_proxy(client)
            if not is_near(claimed):
                request.META[CLAIMED] = claimed
        return self.get_response(request)


class AdminPolicyMiddleware(Middleware):
    """Restrict the admin's pages to our own files (CSP 3), because they show content of strangers.

    Alpine, which Unfold uses, needs eval. Pages are compressed, and files that `collectstatic` has not
    compressed.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        is_admin = request.path_info.startswith(("/admin/", "/setup/", "/join/"))
        if not is_admin and not request.path_info.startswith(settings.STATIC_URL):
            return self.get_response(request)
        if not is_admin:
            return self.compressed(request, self.get_response(request))
        with timezone.override(admin_zone()):
            response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", ADMIN_POLICY)
        return self.compressed(request, response)

    def compressed(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """Compress text, but not a part of a file (206)."""
        is_text = response.headers.get("Content-Type", "").startswith(
            ("text/", "application/json", "image/svg")
        )
        if response.status_code == HTTPStatus.OK and is_text:
            GZipMiddleware(self.get_response).process_response(request, response)
        return response


class AccountPolicyMiddleware(Middleware):
    """Restrict sign-in and account pages as readers' pages, but forms may lead to other sites."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path_info.startswith("/account/"):
            return self.get_response(request)
        response = reading_page(self.get_response)(request)
        policy = policy_to_own_sites().replace("img-src 'self'", "img-src 'self' data:")
        response.headers["Content-Security-Policy"] = policy
        return response  # type: ignore[return-value]


class KnownBrowserMiddleware(Middleware):
    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        remember_browser(request, response)
        return response


class HostMiddleware(Middleware):
    """Refuse other hosts, with one log line per minute; Django would log a traceback for each."""

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
            words = "This site has no such host name. (ALLOWED_HOSTS lists its names.)\n"
            response = HttpResponse(words, status=HTTPStatus.BAD_REQUEST, content_type="text/plain")
            response._has_been_logged = True  # type: ignore[attr-defined]
            return response
        return self.get_response(request)


class WebSlotMiddleware(Middleware):
    """Answer 503 beyond the limit for waiting for other servers."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with web_request():
            response = self.get_response(request)
        if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE and "Retry-After" in response:
            # Intended, so not logged as an error.
            response._has_been_logged = True  # type: ignore[attr-defined]
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, ServerBusy):
            return None
        response = render(request, "503.html", status=HTTPStatus.SERVICE_UNAVAILABLE)
        response["Retry-After"] = str(RETRY_AFTER_SECONDS)
        return response


class BodyLimitMiddleware(Middleware):
    """Refuse a body that is too large before reading it (RFC 9110 §15.5.14).

    Only views that declare it write files to disk, for staff or signed-in users. Others drop files, because
    FILE_UPLOAD_HANDLERS is empty.
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
    """As Django does: invalid text counts as 0, and nothing is read."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


def refusal(request: HttpRequest, status: HTTPStatus) -> HttpResponse:
    """Return a page, or a problem (RFC 9457) for the API."""
    if not request.path.startswith("/api/"):
        return render(request, "413.html", status=status)
    body = {"type": "about:blank", "title": status.phrase, "status": status, "detail": REFUSED[status]}
    return JsonResponse(body, status=status, content_type=MEDIA_TYPE)


class LanguageMiddleware(Middleware):
    """Activate the browser's language; views may know a better one (subscriptions.views.pages).

    Neither cookie nor URL matters: a link in a letter is the same for all. Pages for operators stay English.
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
