"""Pages of readers, whose sessions are separate from the admin's.

The cookie is sent to /mine/ only, and expires after twelve hours.
"""

import hashlib
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import wraps
from importlib import import_module
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import translation
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from common.clock import utcnow
from common.languages import asked_for, spoken_variety
from common.rates import OverLimit
from common.signing import TokenError
from subscriptions.branding.site import site_facts
from subscriptions.forms.reader import SignInForm
from subscriptions.models import Destination
from subscriptions.rules.colours import stylesheet
from subscriptions.subscribers import sign_in as signing_in
from subscriptions.subscribers.sign_in import spoken_by
from subscriptions.views import pages

# Browsers may show old colours for this time.
LOOK_KEPT_SECONDS = 60
COOKIE = "reader"
PATH = "/mine/"
AT_MOST = timedelta(hours=12)
READER, SINCE = "reader", "since"
ReaderView = Callable[..., HttpResponseBase]


@require_safe
def site_look(request: HttpRequest) -> HttpResponse:
    return as_stylesheet(request, stylesheet(site_facts().accent))


def as_stylesheet(request: HttpRequest, styles: str) -> HttpResponse:
    etag = quote_etag(hashlib.sha256(styles.encode()).hexdigest()[:32])
    response = get_conditional_response(request, etag, None)
    if response is None:
        response = HttpResponse(styles, content_type="text/css; charset=utf-8")
    response.headers["ETag"] = etag
    response.headers["Cache-Control"] = f"public, max-age={LOOK_KEPT_SECONDS}"
    return response


PageView = Callable[..., HttpResponse]

# No scripts. Posts have pictures from anywhere.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self' https: http: data:",
        "media-src https: http:",
        "frame-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

# For proof of work and notifications (templates/pages/_form_safety.html, _device.html).
SCRIPT = "; script-src 'self'; connect-src 'self'; manifest-src 'self'"
SCRIPTED = (b' data-challenge="', b' data-device="')
# Enough for any address and its inserts and lookups.
SECONDS = 0.02


def page(view: PageView) -> PageView:
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = view(request, *args, **kwargs)
        policy = response.headers.get("Content-Security-Policy", POLICY)
        has_script = not response.streaming and any(mark in response.content for mark in SCRIPTED)
        response.headers["Content-Security-Policy"] = policy + (SCRIPT if has_script else "")
        return response

    return wrapped


def token_page(view: PageView) -> PageView:
    """Secret URL: not cached, not indexed, not sent as referrer."""

    @wraps(view)
    @cache_control(no_store=True)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = page(view)(request, *args, **kwargs)
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Robots-Tag"] = "noindex"
        return response

    return wrapped


def refusing_openly(view: PageView) -> PageView:
    @wraps(view)
    def wrapped(request: HttpRequest, form: Any, *args: Any) -> HttpResponse:
        try:
            return view(request, form, *args)
        except OverLimit as over:
            seconds = over.seconds_left(utcnow())
            context = {"minutes": math.ceil(seconds / 60), "newsletter": form.subscribables[0]}
            if request.path.endswith("/embed/"):
                context["base"] = "pages/embed/base.html"
            response = render(request, "429.html", context, status=429)
            response["Retry-After"] = str(seconds)
            return response

    return wrapped


TokenView = Callable[[HttpRequest, str], HttpResponse]


def by_token(view: TokenView) -> Callable[..., HttpResponse]:
    """GET and HEAD show, POST acts. The token authorizes: no cookie, no CSRF token."""

    @wraps(view)
    def wrapped(request: HttpRequest, token: str) -> HttpResponse:
        try:
            response = view(request, token)
        except TokenError as error:
            context: dict[str, Any] = {"reason": str(error), "page_url": getattr(error, "page_url", "")}
            response = render(request, "pages/bad_link.html", context, status=400)
        # Django would log the path of a 4xx response, which contains a key.
        response._has_been_logged = True  # type: ignore[attr-defined]
        return response

    return csrf_exempt(require_http_methods(["GET", "HEAD", "POST"])(token_page(wrapped)))


def speak(language: str) -> None:
    """Activate a language until LanguageMiddleware resets it. Ignores unsupported ones."""
    with suppress(LookupError):
        translation.activate(spoken_variety(language))


def focus_on_error(form: forms.Form) -> None:
    wrong = next((name for name in form.fields if name in form.errors), "")
    if wrong:
        form.fields[wrong].widget.attrs["autofocus"] = True


@contextmanager
def same_time() -> Iterator[None]:
    """Take the same time for all addresses, around a sign-up and its response."""
    begun = time.monotonic()
    try:
        yield
    finally:
        time.sleep(max(0.0, SECONDS - (time.monotonic() - begun)))


def begin_session(response: HttpResponse, destination: Destination) -> None:
    session = _session(None)
    session[READER], session[SINCE] = destination.pk, utcnow().timestamp()
    session.set_expiry(AT_MOST)
    session.save()
    response.set_cookie(
        COOKIE,
        session.session_key or "",
        max_age=AT_MOST,
        path=PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def end_session(request: HttpRequest, response: HttpResponse) -> None:
    """Sign out and delete the session, in case the key was copied."""
    if key := request.COOKIES.get(COOKIE):
        session = _session(key)
        if READER in session:
            session.flush()
    response.delete_cookie(COOKIE, path=PATH, samesite="Lax")


def signed_in(view: ReaderView) -> ReaderView:
    """Pass the reader, or redirect to sign-in.

    Referrer policy is same-origin, because CSRF checks under HTTPS need a referrer.
    """

    @wraps(view)
    @cache_control(no_store=True)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        # Admins' sessions have another cookie.
        key = request.COOKIES.get(COOKIE)
        pk = _session(key).get(READER) if key else None
        reader = Destination.objects.filter(pk=pk, erased_at=None).first() if pk else None
        if reader is None or was_signed_out(reader, key or ""):
            ended = "?ended" if COOKIE in request.COOKIES else ""
            response: HttpResponseBase = HttpResponseRedirect(reverse("subscriptions:sign_in") + ended)
        else:
            speak(spoken_by(reader))
            response = page(cast("Any", view))(request, reader, *args, **kwargs)
        response.headers["X-Robots-Tag"] = "noindex"
        return response

    return wrapped


def was_signed_out(reader: Destination, key: str) -> bool:
    """Return whether a change of address, perhaps by a stranger, was undone since."""
    since = datetime.fromtimestamp(_session(key).get(SINCE, 0), UTC)
    return reader.changes_away.filter(undone_at__gte=since).exists()


def _session(key: str | None) -> SessionBase:
    store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore
    return store(key)


@csrf_exempt  # independent of any session
@require_http_methods(["GET", "HEAD", "POST"])
@page
def sign_in(request: HttpRequest) -> HttpResponse:
    """Same response for all addresses."""
    if request.method != "POST":
        return _form(request, SignInForm(), ended="ended" in request.GET)
    form = SignInForm(request.POST)
    if not form.is_valid():
        return _form(request, form, status=400)
    return _ask_for_link(request, form)


@cache_control(no_store=True)
def _ask_for_link(request: HttpRequest, form: SignInForm) -> HttpResponse:
    email = form.cleaned_data["email"]
    ip, language = request.META.get("REMOTE_ADDR", ""), asked_for(request)
    try:
        if not form.is_trap_sprung:
            signing_in.ask_for_link(email=email, ip=ip, now=utcnow(), language=language)
    except OverLimit:
        # About the connection only: it must not reveal requests for an address.
        form.add_error(None, gettext("Too many attempts from your network. Please try again in an hour."))
        return _form(request, form, status=429)
    return render(request, "pages/sign_in_sent.html", {"email": email, "minutes": signing_in.MINUTES})


def _form(request: HttpRequest, form: SignInForm, *, status: int = 200, ended: bool = False) -> HttpResponse:
    return render(request, "pages/sign_in.html", {"form": form, "ended": ended}, status=status)


@by_token
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """GET shows a button, because programs open mailed links."""
    try:
        # A cross-site POST could sign people in to a stranger's address.
        is_from_elsewhere = request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")
        if request.method == "POST" and not is_from_elsewhere:
            signed_in = signing_in.use_link(token=token, now=utcnow())
            response: HttpResponse = HttpResponseRedirect(reverse("subscriptions:mine"))
            pages.begin_session(response, signed_in)
            return response
        reader = signing_in.destination_of_link(token=token, now=utcnow())
    except signing_in.SpentSignInLink as error:
        response = render(request, "pages/sign_in_spent.html", {"reason": str(error)}, status=400)
        # Django would log the path of a 4xx response, which contains a key.
        response._has_been_logged = True  # type: ignore[attr-defined]
        return response
    speak(signing_in.spoken_by(reader))
    return render(request, "pages/sign_in_confirm.html", {"reader": reader})
