"""Takes what a valid sign-up form asks for, on whichever page it stood."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language_from_request

from common.clock import utcnow
from subscriptions.forms import SignUpForm
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.webmail import webmail_of
from subscriptions.services.signing_up import sign_up
from subscriptions.views.same_time import same_time


def take(
    request: HttpRequest, form: SignUpForm, how: How, template: str = "pages/check_your_mail.html"
) -> HttpResponse:
    """The same page, in the same time, whatever the address."""
    email, name = form.cleaned_data["email"], form.cleaned_data["name"]
    with same_time():
        if not form.is_robot:
            sign_up(
                subscribables=form.subscribables,
                email=email,
                name=name,
                origin=Origin(how, request.META.get("REMOTE_ADDR", ""), form.consent),
                now=utcnow(),
                language=get_language_from_request(request),
            )
        context: dict[str, Any] = {
            "newsletter": form.subscribables[0],
            "newsletters": form.subscribables,
            "email": email,
            "webmail": webmail_of(email),
            "name": name,
        }
        response = render(request, template, context)
    response.headers["Cache-Control"] = "no-store"
    return response
