from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_safe

from common.clock import utcnow
from common.languages import asked_for
from subscriptions.forms.sign_up import SignUpForm
from subscriptions.models import Subscribable
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.sign_up import MOST_AT_ONCE, webmail_of
from subscriptions.rules.typos import meant
from subscriptions.subscribers.antispam import new_sum
from subscriptions.subscribers.sign_up import sign_up
from subscriptions.views.confirm import read_told, told_url
from subscriptions.views.pages import page, refusing_openly, same_time


@cache_control(no_store=True)
@refusing_openly
def take_sign_up(request: HttpRequest, form: SignUpForm, how: How, said_at: str = "") -> HttpResponse:
    """Redirect to the same page, in the same time for all addresses.

    `said_at`: another page. Upstream's forms get no redirect, since programs post them.
    """
    email, name = form.cleaned_data["email"], form.cleaned_data["name"]
    with same_time():
        if not form.is_robot:
            sign_up(
                subscribables=form.subscribables,
                email=email,
                name=name,
                origin=Origin.of(request.META, how, form.consent),
                now=utcnow(),
                language=asked_for(request),
            )
        if how == How.V0:
            context = asked_context(form.subscribables, email, name)
            return render(request, "pages/check_your_mail.html", context)
        names = " ".join(each.name for each in form.subscribables)
        values = {"email": email, "name": name, "newsletters": names}
        return HttpResponseRedirect(told_url(said_at or reverse("subscriptions:asked"), values), status=303)


def asked_context(newsletters: Sequence[Subscribable], email: str, name: str) -> dict[str, Any]:
    return {
        "newsletter": newsletters[0],
        "newsletters": newsletters,
        "email": email,
        "meant": meant(email),
        "webmail": webmail_of(email),
        "name": name,
    }


def told_sign_up(request: HttpRequest) -> dict[str, Any] | None:
    values = read_told(request)
    if values is None:
        return None
    names = values.get("newsletters", "").split()[:MOST_AT_ONCE]
    rows = {each.name: each for each in Subscribable.objects.with_pages().named(*names)}
    newsletters = [rows[name] for name in names if name in rows]
    return (
        asked_context(newsletters, values.get("email", ""), values.get("name", "")) if newsletters else None
    )


@require_safe
@cache_control(no_store=True)
@page
def asked(request: HttpRequest) -> HttpResponse:
    context = told_sign_up(request)
    if context is None:
        return HttpResponseRedirect(reverse("subscriptions:newsletters"))
    return render(request, "pages/check_your_mail.html", context)


@never_cache
@require_safe
def challenge(request: HttpRequest) -> JsonResponse:
    """Works for forms on any site. Nothing is stored."""
    response = JsonResponse({"challenge": new_sum(now=utcnow())})
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response
