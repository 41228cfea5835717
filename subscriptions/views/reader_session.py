"""Sessions of readers, separate from the admin's.

The cookie is sent to /mine/ only, and expires after twelve hours.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import wraps
from importlib import import_module
from typing import Any, cast

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.cache import cache_control

from common.clock import utcnow
from subscriptions.models import Destination
from subscriptions.subscribers.sign_in import spoken_by
from subscriptions.views.pages import page, speak

COOKIE = "reader"
PATH = "/mine/"
AT_MOST = timedelta(hours=12)
READER, SINCE = "reader", "since"
ReaderView = Callable[..., HttpResponseBase]


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
