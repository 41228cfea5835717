from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from common.clock import utcnow
from common.languages import asked_for
from subscriptions import links
from subscriptions.forms.phone import CodeForm, PhoneForm
from subscriptions.forms.sign_up import SignUpForm
from subscriptions.models import Subscribable
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.sign_up import MOST_AT_ONCE, webmail_of
from subscriptions.rules.typos import meant
from subscriptions.subscribers import codes
from subscriptions.subscribers.antispam import new_sum
from subscriptions.subscribers.sign_up import confirm_by_code, sign_up, sign_up_parsed
from subscriptions.views.confirm import read_told, told_url
from subscriptions.views.pages import page, refusing_openly, same_time, token_page


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


@cache_control(no_store=True)
@refusing_openly
def take_phone_sign_up(request: HttpRequest, form: PhoneForm, how: How) -> HttpResponse:
    """Redirect in the same time for all numbers."""
    now = utcnow()
    with same_time():
        if not form.is_robot:
            sign_up_parsed(
                subscribables=form.subscribables,
                parsed=form.parsed,
                name="",
                origin=Origin.of(request.META, how, form.consent),
                now=now,
                language=asked_for(request),
            )
        values = {
            "core": form.parsed.core,
            "label": form.parsed.label,
            "newsletter": form.subscribables[0].name,
            "at": str(now.timestamp()),
            "tries": "0",
        }
        return HttpResponseRedirect(told_url(reverse("subscriptions:code"), values), status=303)


@csrf_exempt  # the URL authorizes; independent of any session
@require_http_methods(["GET", "HEAD", "POST"])
@token_page
def enter_code(request: HttpRequest) -> HttpResponse:
    """The response depends only on the input, never on what is known of the number."""
    told = read_told(request)
    newsletter = Subscribable.objects.with_pages().named((told or {}).get("newsletter", "")).first()
    if told is None or newsletter is None or not told.get("core"):
        return HttpResponseRedirect(reverse("subscriptions:newsletters"))
    now, tries = utcnow(), int(told.get("tries", "0"))
    asked_at = datetime.fromtimestamp(float(told.get("at", "0")), tz=now.tzinfo)
    is_late = now >= asked_at + codes.CODE_GOOD_FOR
    context: dict[str, Any] = {
        "newsletter": newsletter,
        "number": told.get("label", ""),
        "is_over": is_late or tries >= codes.MOST_TRIES,
        "is_late": is_late,
        "path": request.get_full_path(),
        "tries_left": codes.MOST_TRIES - tries,
        "minutes": int(codes.CODE_GOOD_FOR / timedelta(minutes=1)),
    }
    if request.method != "POST" or context["is_over"]:
        form = CodeForm()
        if tries and not context["is_over"]:
            context["wrong"] = gettext("That’s not the code. Please check the message again.")
        return render(request, "pages/code.html", {**context, "form": form})
    form = CodeForm(request.POST)
    if not form.is_valid():
        return render(request, "pages/code.html", {**context, "form": form}, status=400)
    with same_time():
        confirmed = confirm_by_code(
            kind=newsletter.channel,
            core=told["core"],
            typed=form.cleaned_data["code"],
            now=now,
            origin=Origin(How.PAGE, ip=request.META.get("REMOTE_ADDR", "")),
        )
    if not confirmed:
        values = {**told, "tries": str(tries + 1)}
        return HttpResponseRedirect(told_url(request.path, values), status=303)
    place = links.confirm_url(*confirmed, now=now).removeprefix(settings.SITE_URL)
    return HttpResponseRedirect(place, status=303)
