from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from common.clock import utcnow
from common.secrets import decrypt, encrypt
from subscriptions import links
from subscriptions.branding.brands import latest_of
from subscriptions.models import Subscription
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers import sign_up
from subscriptions.subscribers.frequency import rarer_siblings
from subscriptions.subscribers.leave import leave, may_say_why, say_why, undo_leaving
from subscriptions.subscribers.lineage import successor
from subscriptions.views.mine import ManageRefused, act, choices, subscription_context
from subscriptions.views.pages import by_token, speak
from subscriptions.views.rhythm import next_letter, rhythm

PARAMETER, PURPOSE = "told", "told"
LONGEST = 4000


def told_url(path: str, values: Mapping[str, str]) -> str:
    query = urlencode({PARAMETER: encrypt({**values, "": PURPOSE})})
    return f"{path}{'&' if '?' in path else '?'}{query}"


def read_told(request: HttpRequest) -> dict[str, str] | None:
    token = request.GET.get(PARAMETER, "")
    if not token or len(token) > LONGEST:
        return None
    with suppress(ValueError, TypeError):
        values = decrypt(token)
        if values.pop("", "") == PURPOSE:
            return values
    return None


INSTEAD = frozenset({"switch", "pause"})


@by_token
def leave_newsletter(request: HttpRequest, token: str) -> HttpResponse:
    """One-click POSTs (RFC 8058 §3.2) have no cookie or referrer.

    A POST may also undo it, and choose an alternative.
    """
    subscription, now = links.find(token, links.UNSUBSCRIBE), utcnow()
    speak(subscription.language)
    if request.method != "POST":
        return _page(request, subscription, now)
    name = "" if "List-Unsubscribe" in request.POST else request.POST.get("act", "")
    if name == "why":
        say_why(subscription=subscription, why=request.POST.get("why", ""))
        return HttpResponseRedirect(f"{request.path}?thanks", status=303)
    if name != "undo" and name not in INSTEAD:
        leave(subscription=subscription, now=now, by_reader=True)
        # One-click gets no redirect (RFC 8058 §3.1).
        return HttpResponseRedirect(request.path, status=303) if name else _page(request, subscription, now)
    undone = undo_leaving(subscription=subscription, now=now)
    if subscription.status == Subscription.Status.UNSUBSCRIBED and not undone:
        return _page(request, subscription, now, status=400)
    if name in INSTEAD and subscription.status == Subscription.Status.CONFIRMED:
        try:
            return act(request, subscription, name, now)
        except ManageRefused:
            pass  # The page shows what is possible.
    return HttpResponseRedirect(f"{links.manage_url(subscription)}?done={'back' if undone else ''}")


def _page(
    request: HttpRequest, subscription: Subscription, now: datetime, *, status: int = 200
) -> HttpResponse:
    follows = successor(subscription)
    may_switch = follows is None and not subscription.is_beside
    has_left = subscription.status == Subscription.Status.UNSUBSCRIBED and follows is None
    context = {
        **subscription_context(subscription, now),
        "leaves": follows.subscribable if follows else subscription.subscribable,
        "rarer": choices(rarer_siblings(subscription.subscribable, now=now)) if may_switch else [],
        "path": request.path,
        "reasons": Subscription.LeftWhy.choices if may_say_why(subscription, now) else [],
        "thanks": "thanks" in request.GET and bool(subscription.left_why),
        "is_late": status == 400,
    }
    return render(request, "pages/left.html" if has_left else "pages/leave.html", context, status=status)


@by_token
def confirm_sign_up(request: HttpRequest, token: str) -> HttpResponse:
    subscriptions = sign_up.subscriptions_of_link(token=token, now=utcnow())
    # The proof of consent quotes the page in this language.
    speak(subscriptions[0].language)
    if request.method == "POST":
        origin = Origin(How.PAGE, ip=request.META.get("REMOTE_ADDR", ""))
        sign_up.confirm_subscriptions(token=token, now=utcnow(), origin=origin)
        return HttpResponseRedirect(request.path, status=303)
    if all(each.status == Subscription.Status.CONFIRMED for each in subscriptions):
        newsletter = subscriptions[0].subscribable
        latest = latest_of(newsletter) if len(subscriptions) == 1 else None
        return render(request, "pages/confirmed.html", {**_context(subscriptions), "latest": latest})
    return render_confirm_page(request, subscriptions)


def render_confirm_page(request: HttpRequest, subscriptions: Sequence[Subscription]) -> HttpResponse:
    speak(subscriptions[0].language)
    return render(request, "pages/confirm.html", _context(subscriptions))


def _context(subscriptions: Sequence[Subscription]) -> dict[str, Any]:
    first = subscriptions[0]
    return {
        "subscription": first,
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
