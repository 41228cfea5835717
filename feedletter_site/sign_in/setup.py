import hashlib
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.contrib.auth import get_user_model, login
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldAdminEmailInputWidget, UnfoldAdminPasswordWidget

from reader.pages.people import MODEL_BACKEND
from subscriptions.branding.brands import alter_site

# Addresses are users' names, too.
FITS_NAME = UnicodeUsernameValidator(message="Use an address of letters, digits and @ . + - _ only.")


class FirstAdminForm(forms.Form):
    """The address is the user's name, too."""

    email = forms.EmailField(
        label="Email",
        max_length=150,
        validators=[FITS_NAME],
        help_text="You sign in with it. Test emails and alerts go here.",
        widget=UnfoldAdminEmailInputWidget(attrs={"autocomplete": "email", "autofocus": True}),
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        help_text="At least 8 characters.",
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "new-password", "data-show": "Show"}),
    )

    # Filled in by the browser.
    time_zone = forms.CharField(
        required=False, max_length=64, widget=forms.HiddenInput(attrs={"data-zone": ""})
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if {"email", "password"} <= data.keys():
            try:
                validate_password(data["password"], self.user())
            except ValidationError as error:
                self.add_error("password", error)
        return data

    def user(self) -> User:
        """Return the unsaved superuser."""
        email = self.cleaned_data["email"]
        user = User(username=email, email=email, is_staff=True, is_superuser=True)
        user.set_password(self.cleaned_data["password"])
        return user


def offer_setup() -> str | None:
    """Return a new one-time link, or None if there is an admin. Invalidates earlier links."""
    if has_admin():
        token_file().unlink(missing_ok=True)
        return None
    token = secrets.token_urlsafe(24)
    token_file().parent.mkdir(parents=True, exist_ok=True)
    token_file().touch(mode=0o600)
    token_file().write_text(digest(token), encoding="ascii")
    return reverse("setup", args=[token])


def has_admin() -> bool:
    return get_user_model().objects.filter(is_superuser=True, is_active=True).exists()


def token_file() -> Path:
    """Contains only a digest, so that reading the folder does not give the link."""
    return Path(settings.DATA_DIR) / "setup_token"


def digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def is_offered(token: str) -> bool:
    try:
        stored = token_file().read_text(encoding="ascii")
    except FileNotFoundError:
        return False
    return constant_time_compare(stored, digest(token)) and not has_admin()


def create_first_admin(form: FirstAdminForm) -> User:
    """Save the superuser and use up the token.

    Raises FileNotFoundError, with nothing saved, if another request was faster.
    """
    with transaction.atomic():
        user = form.user()
        user.save()
        token_file().unlink()
        with suppress(ValidationError):
            if "TIME_ZONE" not in settings.GIVEN:
                alter_site(time_zone=form.cleaned_data["time_zone"])
    return user


def sign_in_at_first(request: HttpRequest) -> HttpResponse:
    """Replace Django's page, which knows no second factor."""
    if request.method != "POST" and not get_user_model().objects.filter(is_staff=True).exists():
        context = {**admin.site.each_context(request), "title": "Feedletter is set up once"}
        return render(request, "site/no_admin.html", context)
    if request.user.is_authenticated and not request.user.is_staff:
        raise PermissionDenied
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: HttpRequest, token: str) -> HttpResponse:
    if not is_offered(token):
        raise Http404("This link has been used, or a newer one was printed.")
    form = FirstAdminForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            user = create_first_admin(form)
        except FileNotFoundError as error:
            raise Http404("This link has been used.") from error
        login(request, user, MODEL_BACKEND)
        return HttpResponseRedirect(reverse("admin:index"))
    context: dict[str, Any] = {
        **admin.site.each_context(request),
        "form": form,
        "title": "Create your account",
    }
    answer = render(request, "site/setup.html", context)
    # With no-referrer, browsers send "Origin: null", which the CSRF check refuses.
    answer["Referrer-Policy"] = "same-origin"
    return answer
