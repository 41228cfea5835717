"""Rules of this site for django-allauth."""

import time
from typing import Any

from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, gettext_lazy

from common.optional_apps import is_on
from common.secrets import decrypt, encrypt
from feedletter_site.services.password_limits import SIGNED_IN_AT, password_uses, tries_left

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
