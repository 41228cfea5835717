from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.clock import utcnow
from common.languages import asked_for
from subscriptions import links
from subscriptions.forms.phone import CodeForm, PhoneForm
from subscriptions.models import Subscribable
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers import codes
from subscriptions.subscribers.sign_up import confirm_by_code, sign_up_parsed
from subscriptions.views.confirm import read_told, told_url
from subscriptions.views.pages import refusing_openly, same_time, token_page


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
