"""Confirming a sign-up."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from common.clock import utcnow
from subscriptions import links
from subscriptions.branding.brands import latest_of
from subscriptions.models import Subscription
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers import sign_up
from subscriptions.views.pages import by_token, speak
from subscriptions.views.rhythm import next_letter, rhythm


@by_token
def confirm_sign_up(request: HttpRequest, token: str) -> HttpResponse:
    """GET asks, POST confirms. Whoever is confirmed already is told so."""
    subscriptions = sign_up.subscriptions_of_link(token=token, now=utcnow())
    # Before anything is confirmed: the proof of consent quotes the page in this language.
    speak(subscriptions[0].language)
    if request.method == "POST":
        origin = Origin(How.PAGE, ip=request.META.get("REMOTE_ADDR", ""))
        sign_up.confirm_subscriptions(token=token, now=utcnow(), origin=origin)
        # A reload, or Back, sends no form again.
        return HttpResponseRedirect(request.path, status=303)
    if all(each.status == Subscription.Status.CONFIRMED for each in subscriptions):
        newsletter = subscriptions[0].subscribable
        # Something to read at once. Of several newsletters it would be too much.
        latest = latest_of(newsletter) if len(subscriptions) == 1 else None
        return render(request, "pages/confirmed.html", {**_context(subscriptions), "latest": latest})
    return render_confirm_page(request, subscriptions)


def render_confirm_page(request: HttpRequest, subscriptions: Sequence[Subscription]) -> HttpResponse:
    """The page with the one button."""
    speak(subscriptions[0].language)
    return render(request, "pages/confirm.html", _context(subscriptions))


def _context(subscriptions: Sequence[Subscription]) -> dict[str, Any]:
    first = subscriptions[0]
    return {
        "subscription": first,
        # The page of one newsletter has its branding.
        "newsletter": first.subscribable if len(subscriptions) == 1 else None,
        "entries": [
            {
                "newsletter": each.subscribable,
                "rhythm": rhythm(each.subscribable),
                "next_at": next_letter(each.subscribable),
                "manage_url": links.manage_url(each),
                "page_url": links.page_url(each.subscribable),
            }
            for each in subscriptions
        ],
    }
