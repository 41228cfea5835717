"""Sign-in by an OpenID Connect provider (OIDC_URL), for users that exist here."""

import logging
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from allauth.account.decorators import reauthentication_required
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.ratelimit import respond_429
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialAccount, SocialLogin
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_POST
from requests import RequestException

from common.net.client import SafeSession, client
from common.net.errors import FetchError
from common.optional_apps import is_on
from common.rates import Limit, count_within

log = logging.getLogger(__name__)
# Each asks the provider for its addresses.
TRIES = Limit("sign-in-oidc", 20)
# An answer that is not as the standard says.
WRONG_ANSWER = (AttributeError, KeyError, TypeError, ValueError)


class ProviderAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    def get_requests_session(self) -> SafeSession:
        return client().session()

    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: Any) -> User:
        """Keep nothing of what the provider says."""
        claims, sociallogin.account.extra_data = sociallogin.account.extra_data, {}
        lists = [part.get("groups") for part in claims.values()]
        sociallogin.groups = {str(group) for each in lists if isinstance(each, list) for group in each}
        user: User = super().populate_user(request, sociallogin, data)
        return user

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Connect the identity, by its verified email address, to the only user of the admin who has it."""
        process = sociallogin.state.get("process")
        is_connecting = process == AuthProcess.CONNECT and request.user.is_authenticated
        is_meant = is_connecting or process == AuthProcess.LOGIN
        if settings.OIDC_GROUP:
            is_meant &= settings.OIDC_GROUP in sociallogin.groups
        is_known = is_connecting or sociallogin.is_existing
        if is_meant and not is_known and (user := _user_of(sociallogin)):
            sociallogin.connect(request, user)
            is_known = True
        if not (is_meant and is_known):
            log.warning("OpenID Connect: nobody here is %r", sociallogin.account.uid)
            page = render(request, "socialaccount/refused.html", status=HTTPStatus.FORBIDDEN)
            raise ImmediateHttpResponse(page)

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return reverse("reader:account") if is_on("reader") else reverse("admin:index")

    def on_authentication_error(self, request: HttpRequest, provider: Any, **about: Any) -> None:
        log.warning("OpenID Connect: %s", about.get("exception") or about.get("error"))


def _user_of(sociallogin: SocialLogin) -> User | None:
    """Readers choose their addresses themselves, so theirs prove nothing."""
    addresses = {each.email.lower() for each in sociallogin.email_addresses if each.verified}
    users = [
        user
        for address in addresses
        for user in User.objects.filter(email__iexact=address, is_active=True, is_staff=True)
        if user.email.lower() == address
    ]
    return users[0] if len(users) == 1 else None


def is_connecting(request: HttpRequest) -> bool:
    given = (request.POST.get("process"), request.GET.get("process"))
    return request.user.is_authenticated and AuthProcess.CONNECT in given


@login_required
@require_POST
def remove_identity(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated and request.user.has_usable_password():
        SocialAccount.objects.filter(user=request.user, uid=request.POST.get("uid", "")).delete()
    return HttpResponseRedirect(reverse("mfa_index"))


def explained(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Answer with a page if the provider is not reached or says what it should not."""

    # allauth asks on return, too.
    confirmed = reauthentication_required(view, enabled=is_connecting, app="allauth.socialaccount")

    @wraps(view)
    def wrapped(request: HttpRequest, provider_id: str) -> HttpResponse:
        ip = str(request.META.get("REMOTE_ADDR", ""))
        if request.method == "POST" and not count_within(*TRIES.by_network(ip)):
            limited: HttpResponse = respond_429(request)
            return limited
        try:
            response: HttpResponse = confirmed(request, provider_id)
            return response
        except (*WRONG_ANSWER, OAuth2Error, RequestException, FetchError) as error:
            log.warning("OpenID Connect: %r", error)
            return render(request, "socialaccount/authentication_error.html", status=HTTPStatus.BAD_GATEWAY)

    return wrapped
