"""Takes what a valid sign-up form asks for, and hands out the sum that the reader's browser solves before."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import get_language_from_request
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from common.clock import utcnow
from subscriptions.forms.sign_up import SignUpForm
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.sign_up import webmail_of
from subscriptions.subscribers.antispam import new_sum
from subscriptions.subscribers.sign_up import sign_up
from subscriptions.views.pages import same_time


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


@never_cache
@require_safe
def challenge(request: HttpRequest) -> JsonResponse:
    """A fresh one for whoever asks, on whichever site the form stands. Nothing is remembered of it."""
    response = JsonResponse({"challenge": new_sum(now=utcnow())})
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
