"""The forms of django-allauth, with passwords typed once.

Templates load feedletter/password.js, which adds a button that shows what is typed.
"""

from typing import Any

from allauth.account import forms
from allauth.account.adapter import get_adapter
from allauth.core import context
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.ratelimit import respond_429
from allauth.mfa.base import forms as mfa
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm, EditWebAuthnForm
from django.contrib.auth import password_validation
from django.contrib.auth.models import User
from django.forms import BooleanField
from django.http import HttpRequest
from django.utils.translation import get_language, gettext, gettext_lazy, ngettext

from common.clock import utcnow
from common.rates import OverLimit
from delivery.accounts.accounts import sends_nothing
from delivery.letters.password_resets import ask_for_reset
from feedletter_site.services.password_limits import OF_CODES, tries_left
from feedletter_site.services.tokens import end_programs


class MinimumLengthValidator(password_validation.MinimumLengthValidator):
    """Django's text isn't translated into all our languages."""

    def get_error_message(self) -> str:
        words = ngettext(
            "This password is too short. Use at least %(count)s character.",
            "This password is too short. Use at least %(count)s characters.",
            self.min_length,
        )
        return words % {"count": self.min_length}


class Plain:
    """Leaves out placeholders, which repeat the labels."""

    password2 = None
    fields: dict[str, Any]
    shows_password = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        for name, field in self.fields.items():
            field.widget.attrs.pop("placeholder", None)
            if name in {"password", "oldpassword"}:
                field.help_text = ""
            if name == "password1":
                field.label = gettext("New password")
                field.widget.attrs["data-show"] = gettext("Show")
                self.shows_password = True
        next(iter(self.fields.values())).widget.attrs["autofocus"] = True


class SignInForm(Plain, forms.LoginForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].label = gettext("Email or username")
        self.fields["login"].widget.attrs |= {"autocapitalize": "none", "spellcheck": "false"}


class EndsPrograms(Plain):
    user: User

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["end_apps"] = BooleanField(label=gettext("Also disconnect all apps"), required=False)

    def save(self) -> None:
        super().save()  # type: ignore[misc]
        if self.cleaned_data["end_apps"]:  # type: ignore[attr-defined]
            end_programs(user=self.user, now=utcnow())


class NewPasswordForm(EndsPrograms, forms.ResetPasswordKeyForm):  # type: ignore[misc]
    pass


class FirstPasswordForm(Plain, forms.SetPasswordForm):  # type: ignore[misc]
    pass


class ChangePasswordForm(EndsPrograms, forms.ChangePasswordForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["oldpassword"].label = gettext("Current password")

    def clean_oldpassword(self) -> str:
        """Count and log wrong ones, as the sign-in does."""
        password = str(self.cleaned_data["oldpassword"])
        if not get_adapter().reauthenticate(self.user, password):
            raise get_adapter().validation_error("enter_current_password")
        return password


class ConfirmForm(Plain, forms.ReauthenticateForm):  # type: ignore[misc]
    pass


class ResetForm(Plain, forms.ResetPasswordForm):  # type: ignore[misc]
    """The response does not reveal whether the user exists."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = gettext_lazy("Your email address")
        self.is_mailed = not sends_nothing()

    def clean_email(self) -> str:
        return str(self.cleaned_data["email"])

    def save(self, request: HttpRequest, **_: Any) -> str:
        email = str(self.cleaned_data["email"])
        try:
            if self.is_mailed:
                ask_for_reset(
                    email=email,
                    ip=str(request.META.get("REMOTE_ADDR", "")),
                    now=utcnow(),
                    language=get_language() or "",
                )
        except OverLimit as error:
            raise ImmediateHttpResponse(respond_429(request)) from error
        return email


class OneCode(Plain):
    user: User

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["code"].label = gettext("Code")
        self.fields["code"].widget.attrs |= {"inputmode": "numeric", "maxlength": 20}

    def clean_code(self) -> str:
        if not tries_left(context.request, [(OF_CODES, str(self.user.pk))]):
            raise get_adapter().validation_error("too_many_login_attempts")
        return str(super().clean_code())  # type: ignore[misc]


class CodeForm(OneCode, mfa.AuthenticateForm):  # type: ignore[misc]
    pass


class CodeAgainForm(OneCode, mfa.ReauthenticateForm):  # type: ignore[misc]
    pass


class AppForm(OneCode, ActivateTOTPForm):  # type: ignore[misc]
    pass


class PasskeyForm(Plain, AddWebAuthnForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].label = gettext("Name")
        self.fields["passwordless"].label = gettext("Sign in with it alone, without a password")
        self.fields["passwordless"].initial = True


class PasskeyNameForm(Plain, EditWebAuthnForm):  # type: ignore[misc]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["name"].label = gettext("Name")
