import logging
import secrets
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from allauth.mfa.signals import authentication_failed
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from common.rates import DAY, HOUR, Limit, OverLimit, Use, check_rows, count_rows_within
from common.text import one_line, shortened

log = logging.getLogger(__name__)

OF_NETWORK = Limit("sign-in ip", 10, HOUR)
OF_NAME = Limit("sign-in user", 20, DAY)
# Of a browser in which the user signed in before, so that strangers can't lock them out; and of all of them.
OF_BROWSER, OF_BROWSERS = Limit("sign-in browser", 20, DAY), Limit("sign-in browsers", 100, DAY)
OF_CODES = Limit("sign-in code", 20, DAY)
BROWSER, REMEMBERED_FOR = "known-browser", timedelta(days=400)
LONGEST_USER_NAME = 150
SIGNED_IN_AT = "signed_in_at"
FAILED = "Sign-in failed from %s: %s"


def tries_left(request: HttpRequest, uses: Iterable[Use]) -> bool:
    """Check without a lock."""
    try:
        check_rows(uses, timezone.now())
    except OverLimit:
        log.warning(FAILED, _address(request), "too many wrong passwords")
        return False
    return True


def count_wrong(
    sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any
) -> None:
    """Receive user_login_failed. fail2ban reads the log, too (docs/operating/run.md)."""
    if request is None:
        return
    username = str(credentials.get("username", ""))
    log.warning(FAILED, _address(request), repr(shortened(one_line(username), LONGEST_USER_NAME)))
    # If refused, a concurrent request used the last try.
    count_rows_within(*password_uses(request, username), now=timezone.now())


def count_wrong_code(sender: Any, request: HttpRequest, user: Any, **_: Any) -> None:
    """Receive authentication_failed of allauth."""
    ip = _address(request)
    log.warning(FAILED, ip, f"a wrong code of {one_line(user.get_username())!r}")
    count_rows_within(*OF_NETWORK.by_network(ip), now=timezone.now())
    # By itself: a network over its limit must not go uncounted.
    count_rows_within((OF_CODES, str(user.pk)), now=timezone.now())


def note_sign_in(sender: Any, request: HttpRequest, user: User, **_: Any) -> None:
    """Receive user_logged_in."""
    request.session[SIGNED_IN_AT] = int(time.time())
    request.signed_in = user  # type: ignore[attr-defined]


def remember_browser(request: HttpRequest, response: HttpResponse) -> None:
    """Set a cookie in the response to a sign-in."""
    if (user := getattr(request, "signed_in", None)) is not None:
        browser = _cookie_of(request, user) or secrets.token_hex(16)
        flags: dict[str, Any] = {
            "secure": settings.SESSION_COOKIE_SECURE,
            "httponly": True,
            "samesite": "Lax",
        }
        response.set_signed_cookie(f"{BROWSER}-{user.pk}", browser, max_age=REMEMBERED_FOR, **flags)


def watch_sign_ins() -> None:
    user_logged_in.connect(note_sign_in, dispatch_uid="feedletter_site.password_limits")
    authentication_failed.connect(count_wrong_code, dispatch_uid="feedletter_site.password_limits")
    user_login_failed.connect(count_wrong, dispatch_uid="feedletter_site.password_limits")


def password_uses(request: HttpRequest, username: str) -> Iterator[Use]:
    user = User.objects.filter(username=username[:LONGEST_USER_NAME]).first()
    if user and (browser := _cookie_of(request, user) or _session_of(request, user)):
        yield OF_BROWSER, f"{browser} {user.password}"
        yield OF_BROWSERS, f"{user.pk} {user.password}"
        return
    # A new password resets the count, so `manage.py changepassword` helps users whom others lock out.
    yield from OF_NETWORK.by_network(_address(request))
    yield OF_NAME, f"{username.lower()} {user.password if user else ''}"


def _cookie_of(request: HttpRequest, user: User) -> str:
    return request.get_signed_cookie(f"{BROWSER}-{user.pk}", "", max_age=REMEMBERED_FOR) or ""


def _session_of(request: HttpRequest, user: User) -> str:
    signed_in = getattr(request, "user", None)
    return f"session {user.pk}" if signed_in is not None and signed_in.pk == user.pk else ""


def _address(request: HttpRequest) -> str:
    return str(request.META.get("REMOTE_ADDR", ""))
