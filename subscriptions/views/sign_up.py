"""Takes what a valid sign-up form asks for, and gives browsers the sum that they solve before that."""

from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_safe

from common.clock import utcnow
from common.languages import asked_for
from subscriptions.forms.sign_up import SignUpForm
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.sign_up import webmail_of
from subscriptions.subscribers.antispam import new_sum
from subscriptions.subscribers.sign_up import sign_up
from subscriptions.views.pages import same_time


@cache_control(no_store=True)
def take_sign_up(
    request: HttpRequest, form: SignUpForm, how: How, template: str = "pages/check_your_mail.html"
) -> HttpResponse:
    """Answers by the same page, in the same time, whatever the address."""
    email, name = form.cleaned_data["email"], form.cleaned_data["name"]
    with same_time():
        if not form.is_robot:
            sign_up(
                subscribables=form.subscribables,
                email=email,
                name=name,
                origin=Origin(how, request.META.get("REMOTE_ADDR", ""), form.consent),
                now=utcnow(),
                language=asked_for(request),
            )
        context: dict[str, Any] = {
            "newsletter": form.subscribables[0],
            "newsletters": form.subscribables,
            "email": email,
            "webmail": webmail_of(email),
            "name": name,
        }
        return render(request, template, context)


@never_cache
@require_safe
def challenge(request: HttpRequest) -> JsonResponse:
    """A fresh sum for a form, on whichever site it stands. Nothing is stored about it."""
    response = JsonResponse({"challenge": new_sum(now=utcnow())})
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
