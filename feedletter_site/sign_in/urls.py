from typing import Any

from allauth.account import views
from allauth.socialaccount.providers.openid_connect import views as oidc
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import include, path, reverse_lazy
from django.views.generic import RedirectView

from common.optional_apps import is_on
from common.signing import token_paths
from feedletter_site.sign_in import adapters, readers
from feedletter_site.sign_in.openid import explained, remove_identity
from reader.models import Reader
from reader.people.readers import OPEN

sign_in = views.LoginView.as_view(
    extra_context={
        "is_open": lambda: settings.READER == OPEN,
        "has_own_sites": lambda: is_on("reader") and Reader.objects.exclude(me="").exists(),
        "oidc_name": lambda: settings.OIDC_URL and settings.OIDC_NAME,
    }
)
OIDC = {"provider_id": "oidc"}


class NewPasswordView(views.PasswordResetFromKeyView):  # type: ignore[misc]
    success_url = reverse_lazy("account_login")

    def dispatch(self, request: HttpRequest, uidb36: str, key: str, **kwargs: Any) -> HttpResponse:
        # allauth fails at blanks and NUL.
        uidb36 = uidb36 if uidb36.isascii() and uidb36.isalnum() else "0"
        response: HttpResponse = super().dispatch(request, uidb36, key, **kwargs)
        return response


# Without allauth's pages for sign-up, email addresses and connections.
urlpatterns = [
    path("account/sign-in/", sign_in, name="account_login"),
    path("account/sign-out/", views.logout, name="account_logout"),
    path("account/inactive/", views.account_inactive, name="account_inactive"),
    path("account/confirm/", views.reauthenticate, name="account_reauthenticate"),
    path("account/password/", views.password_change, name="account_change_password"),
    path("account/password/first/", views.password_set, name="account_set_password"),
    path("account/password-reset/", views.password_reset, name="account_reset_password"),
    path("account/password-reset/sent/", views.password_reset_done, name="account_reset_password_done"),
    path("account/second-factor/", include("allauth.mfa.urls")),
    path("account/oidc/", explained(oidc.login), OIDC, name="openid_connect_login"),
    path("account/oidc/back/", explained(oidc.callback), OIDC, name="openid_connect_callback"),
    path("account/oidc/remove/", remove_identity, name="remove_identity"),
    path(
        "account/oidc/cancelled/",
        RedirectView.as_view(pattern_name="account_login"),
        name="socialaccount_login_cancelled",
    ),
    *token_paths(
        "account/password-reset/<uidb36>/",
        NewPasswordView.as_view(),
        "account_reset_password_from_key",
        parameter="key",
    ),
]
if is_on("reader"):
    urlpatterns += [
        path("reader/sign-in/site/", adapters.begin_sign_in, name="reader_sign_in_site"),
        path("reader/sign-in/site/back/", adapters.finish_sign_in, name="reader_sign_in_back"),
        path("reader/join/", readers.join, name="reader_join"),
    ]
