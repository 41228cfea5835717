"""Rules of this site for django-allauth.

Sign-in with the reader's own site (IndieAuth).
"""

import time
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.utils import perform_login
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from common.clock import utcnow
from common.optional_apps import is_on
from common.rates import Limit, count_within
from common.secrets import decrypt, encrypt
from common.text import one_line
from feedletter_site.services.password_limits import SIGNED_IN_AT, password_uses, tries_left
from reader.indieauth.client import begin, finish
from reader.indieauth.discovery import NotConfirmed, discover, site_url
from reader.pages.access import policy_to_own_sites, reading_page
from reader.people.tokens import connect_site, reader_with_site
from reader.rules.identity import LONGEST_IDENTITY

# Strangers can make us contact any site.
TRIES, TRIES_OF_ALL = Limit("sign-in-site", 6), Limit("sign-in-sites", 120)
BEGUN, GOING_TO = "sign_in_site", "sign_in_site_next"
BEGUN_WITH = "sign_in_begun_with"


def is_own(request: HttpRequest, url: str) -> bool:
    return url_has_allowed_host_and_scheme(url, {request.get_host()}, require_https=request.is_secure())


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    error_messages = {  # noqa: RUF012 - allauth's name and type
        **DefaultAccountAdapter.error_messages,
        "too_many_login_attempts": gettext_lazy("Too many wrong passwords. Try again in an hour."),
        "username_password_mismatch": gettext_lazy(
            "The username or the password is wrong. Capitals matter in both."
        ),
    }

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Refuse even the right password after too many wrong ones."""
        if not tries_left(request, password_uses(request, credentials["username"])):
            raise self.validation_error("too_many_login_attempts")

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        if getattr(request.user, "is_staff", False):
            return reverse("admin:index")
        return reverse("reader:all") if is_on("reader") else "/"

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        if is_on("reader") and not getattr(request.user, "is_staff", False):
            return reverse("reader:account")
        return self.get_login_redirect_url(request)

    def get_reauthentication_methods(self, user: Any) -> list[dict[str, Any]]:
        """Users without a password or second factor sign in again."""
        again = {"id": "sign_out", "url": reverse("account_logout")}
        return super().get_reauthentication_methods(user) or [again]

    def is_reauthentication_required(self, *, app: str, **_: Any) -> bool:
        """Without `app`, a sign-in with the password or second factor counts, too."""
        recent = time.time() - app_settings.REAUTHENTICATION_TIMEOUT
        if not super().get_reauthentication_methods(self.request.user):
            return bool(self.request.session.get(SIGNED_IN_AT, 0) < recent)
        records = get_authentication_records(self.request, self.request.user)
        methods = app_settings.REAUTHENTICATION_METHODS
        return bool(app) or not any(each["method"] in methods and each["at"] > recent for each in records)

    def pre_login(self, request: HttpRequest, user: Any, **about: Any) -> HttpResponse | None:
        request.session[BEGUN_WITH] = user.get_session_auth_hash()
        return super().pre_login(request, user, **about)  # type: ignore[no-any-return]

    def login(self, request: HttpRequest, user: Any) -> None:
        """Refuse if the password was changed while a second factor was waited for."""
        if request.session.pop(BEGUN_WITH, "") != user.get_session_auth_hash():
            raise ImmediateHttpResponse(HttpResponseRedirect(reverse("account_login")))
        super().login(request, user)

    def is_safe_url(self, url: str) -> bool:
        return is_own(self.request, url)

    def get_client_ip(self, request: HttpRequest) -> str:
        """ProxyMiddleware has set it. Web servers behind a socket know none."""
        return str(request.META.get("REMOTE_ADDR") or "0.0.0.0")  # noqa: S104 - no address to bind

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """ResetForm queues the only email."""
        raise NotImplementedError(template_prefix)


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    def encrypt(self, text: str) -> str:
        return encrypt({"": text})

    def decrypt(self, encrypted_text: str) -> str:
        return decrypt(encrypted_text)[""]

    def generate_authenticator_name(self, user: AbstractBaseUser, type: Authenticator.Type) -> str:
        count = Authenticator.objects.filter(user=user.pk, type=type).count()
        return gettext("Passkey {number}").format(number=count + 1)


@reading_page
@require_POST
def begin_sign_in(request: HttpRequest) -> HttpResponse:
    me = one_line(request.POST.get("me", ""))[: LONGEST_IDENTITY + 1]
    tries = TRIES.by_network(str(request.META.get("REMOTE_ADDR", "")))
    if not (count_within(*tries) and count_within((TRIES_OF_ALL, ""))):
        problem = gettext("Too many attempts. Please wait a minute.")
        return _again(request, me=me, problem=problem, status=HTTPStatus.TOO_MANY_REQUESTS)
    try:
        begun = begin(discover(me), redirect_uri=site_url("reader_sign_in_back"), now=utcnow())
    except NotConfirmed as error:
        return _again(request, me=me, details=str(error))
    request.session[BEGUN], request.session[GOING_TO] = begun.kept, request.POST.get("next", "")
    return HttpResponseRedirect(begun.url)


@reading_page
@require_safe
def finish_sign_in(request: HttpRequest) -> HttpResponse:
    kept, going_to = request.session.pop(BEGUN, {}), request.session.pop(GOING_TO, "")
    try:
        granted = finish(kept, request.GET.dict(), now=utcnow())
    except NotConfirmed as error:
        return _again(request, details=str(error))
    reader = reader_with_site(granted.me)
    if reader is None:
        problem = gettext(
            "Nobody here has connected this site. Sign in with a password, then connect it under “Your site”."
        )
        return _again(request, me=granted.me, problem=problem, status=HTTPStatus.FORBIDDEN)
    if reader.user.is_staff:
        # Control of a domain must not give access to the admin.
        problem = gettext("You may use the admin of this site, so sign in with your password.")
        return _again(request, me=granted.me, problem=problem, status=HTTPStatus.FORBIDDEN)
    connect_site(reader=reader, me=granted.me, endpoints=asdict(granted.endpoints), now=utcnow())
    # A second factor is asked for here, too.
    next_url = going_to if is_own(request, going_to) else None
    response: HttpResponse = perform_login(request, reader.user, redirect_url=next_url)
    return response


def _again(
    request: HttpRequest,
    *,
    me: str = "",
    problem: str = "",
    details: str = "",
    status: int = HTTPStatus.BAD_REQUEST,
) -> HttpResponse:
    """`details` are in English."""
    problem = problem or gettext("We couldn’t sign you in with this site.")
    context = {"me": me, "problem": problem, "details": details, "next": request.POST.get("next", "")}
    response = render(request, "reader/sign_in_site.html", context, status=status)
    response.headers["Content-Security-Policy"] = policy_to_own_sites()
    return response
