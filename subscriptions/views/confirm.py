"""Confirming a sign-up."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.clock import utcnow
from subscriptions import links
from subscriptions.branding import Latest, latest_of
from subscriptions.models import Subscribable, Subscription
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers import sign_up
from subscriptions.views.pages import by_token, speak_as
from subscriptions.views.rhythm import rhythm


@by_token
def confirm(request: HttpRequest, token: str) -> HttpResponse:
    """GET asks, POST confirms; who is confirmed already is told so."""
    subscriptions = sign_up.awaiting(token=token, now=utcnow())
    # First of all: the proof of consent quotes the page.
    speak_as(subscriptions[0])
    if request.method == "POST":
        origin = Origin(How.PAGE, ip=request.META.get("REMOTE_ADDR", ""))
        subscriptions = sign_up.confirm(token=token, now=utcnow(), origin=origin)
    if all(each.status == Subscription.Status.CONFIRMED for each in subscriptions):
        context = {**_context(subscriptions), "latest": _latest(subscriptions)}
        return render(request, "pages/confirmed.html", context)
    return ask(request, subscriptions)


def ask(request: HttpRequest, subscriptions: Sequence[Subscription]) -> HttpResponse:
    """The page with the one button."""
    speak_as(subscriptions[0])
    return render(request, "pages/confirm.html", _context(subscriptions))


def _context(subscriptions: Sequence[Subscription]) -> dict[str, Any]:
    first = subscriptions[0]
    return {
        "subscription": first,
        # Pages of one newsletter wear its look.
        "newsletter": first.subscribable if len(subscriptions) == 1 else None,
        "entries": [_entry(each) for each in subscriptions],
    }


def _entry(subscription: Subscription) -> dict[str, Any]:
    newsletter = subscription.subscribable
    return {
        "newsletter": newsletter,
        "rhythm": rhythm(newsletter),
        "manage_url": links.manage_url(subscription),
        "page_url": links.page_url(newsletter),
    }


def _latest(subscriptions: Sequence[Subscription]) -> Latest | None:
    """What to read at once, where the admin wishes so. (Of several there would be too much.)"""
    newsletter = subscriptions[0].subscribable
    wanted = newsletter.welcome == Subscribable.Welcome.LATEST and len(subscriptions) == 1
    return latest_of(newsletter) if wanted else None
