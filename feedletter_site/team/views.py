from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods
from unfold.widgets import UnfoldAdminPasswordWidget

from common.clock import utcnow
from feedletter_site.team.people import InvitationOver, accept, invited
from reader.pages.people import MODEL_BACKEND


class InvitationForm(forms.Form):
    password = forms.CharField(
        label="Choose a password",
        strip=False,
        help_text="At least 8 characters.",
        widget=UnfoldAdminPasswordWidget(
            attrs={"autocomplete": "new-password", "data-show": "Show", "autofocus": True}
        ),
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def clean_password(self) -> str:
        password = str(self.cleaned_data["password"])
        validate_password(password, self.user)
        return password


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def accept_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Page of an invitation's link."""
    context: dict[str, Any] = {**admin.site.each_context(request), "title": "Join the team"}
    try:
        user = invited(key=token, now=utcnow()).user
        form = InvitationForm(request.POST or None, user=user)
        if request.method == "POST" and form.is_valid():
            login(
                request,
                accept(key=token, password=form.cleaned_data["password"], now=utcnow()),
                MODEL_BACKEND,
            )
            return HttpResponseRedirect(reverse("admin:index"))
        answer = render(request, "site/join.html", {**context, "form": form, "email": user.email})
    except InvitationOver as error:
        answer = render(request, "site/join.html", {**context, "problem": str(error)}, status=404)
    # With no-referrer, browsers send "Origin: null", which the CSRF check refuses.
    answer["Referrer-Policy"] = "same-origin"
    return answer
