"""Bases of pages: their headers, language, and access by the token of a link."""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import wraps
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.utils import translation
from django.utils.cache import get_conditional_response
from django.utils.decorators import method_decorator
from django.utils.functional import cached_property
from django.utils.http import quote_etag
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe
from django.views.generic import FormView

from common.clock import utcnow
from common.languages import spoken_variety
from common.secrets import decrypt, encrypt
from common.signing import TokenError
from subscriptions.branding.brands import site_facts
from subscriptions.rules.colours import stylesheet

# Browsers may show old colours for this time.
LOOK_KEPT_SECONDS = 60
PageView = Callable[..., Any]
PARAMETER, PURPOSE = "told", "told"
LONGEST = 4000
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

# For proof of work, notifications and the time zone (templates/pages/_form_safety.html, _device.html,
# confirm.html).
SCRIPT = "; script-src 'self'; connect-src 'self'; manifest-src 'self'"
SCRIPTED = (b' data-challenge="', b' data-device="', b' data-zone="')
# Enough for any address and its inserts and lookups.
SECONDS = 0.02

shows_and_acts = require_http_methods(["GET", "HEAD", "POST"])


def page(view: PageView) -> PageView:
    @wraps(view)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = view(request, *args, **kwargs)
        policy = response.headers.get("Content-Security-Policy", POLICY)
        has_script = not response.streaming and any(mark in response.content for mark in SCRIPTED)
        response.headers["Content-Security-Policy"] = policy + (SCRIPT if has_script else "")
        return response

    return wrapped


# Independent of any session, so a CSRF token would protect nothing.
public: list[Any] = [csrf_exempt, shows_and_acts, page]


def token_page(view: PageView) -> PageView:
    """Secret URL: not cached, not indexed, not sent as referrer."""

    @wraps(view)
    @cache_control(no_store=True)
    def wrapped(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = page(view)(request, *args, **kwargs)
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["X-Robots-Tag"] = "noindex"
        return response

    return wrapped


def speak(language: str) -> None:
    """Activate a language until LanguageMiddleware resets it. Ignores unsupported ones."""
    with suppress(LookupError):
        translation.activate(spoken_variety(language))


def told_url(path: str, values: Mapping[str, str]) -> str:
    query = urlencode({PARAMETER: encrypt({**values, "": PURPOSE})})
    return f"{path}{'&' if '?' in path else '?'}{query}"


def read_told(request: HttpRequest) -> dict[str, str] | None:
    token = request.GET.get(PARAMETER, "")
    if not token or len(token) > LONGEST:
        return None
    with suppress(ValueError, TypeError):
        values = decrypt(token)
        if values.pop("", "") == PURPOSE:
            return values
    return None


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


class Page(FormView):  # type: ignore[type-arg]
    """GET and HEAD show a form, POST acts."""

    form_class: type[forms.Form] = forms.Form

    @cached_property
    def now(self) -> datetime:
        return utcnow()

    @property
    def ip(self) -> str:
        return str(self.request.META.get("REMOTE_ADDR", ""))

    def form_invalid(self, form: Any) -> HttpResponse:
        return self.show(form, status=400)

    def show(self, form: forms.Form, *, status: int = 200) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=status)

    def render_to_response(self, context: dict[str, Any], **response_kwargs: Any) -> HttpResponse:
        # The policy depends on the content.
        response = cast(TemplateResponse, super().render_to_response(context, **response_kwargs))
        return response.render()


@method_decorator([csrf_exempt, shows_and_acts, token_page], name="dispatch")
class TokenPage(Page):
    """Page of a mailed link. GET shows a button, because programs open mailed links.

    The token authorizes: no cookie, no CSRF token.
    """

    bad_link_template = "pages/bad_link.html"
    context_object_name = "object"
    object: Any

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            self.object = self.get_object()
            self.extra_context = {self.context_object_name: self.object}
            speak(self.get_language())
            response = super().dispatch(request, *args, **kwargs)
        except TokenError as error:
            response = self.bad_link(error)
        # Django would log the path of a 4xx response, which contains a key.
        response._has_been_logged = True  # type: ignore[attr-defined]
        return response

    @property
    def token(self) -> str:
        return str(self.kwargs["token"])

    @property
    def path(self) -> str:
        return self.request.path

    def get_object(self) -> Any:
        """Return what the link is for, or raise TokenError."""
        raise NotImplementedError

    def get_language(self) -> str:
        return str(self.object.language)

    def bad_link(self, error: TokenError) -> HttpResponse:
        context = {"reason": str(error), "page_url": getattr(error, "page_url", "")}
        return render(self.request, self.bad_link_template, context, status=400)


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
