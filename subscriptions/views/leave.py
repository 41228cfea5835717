"""Leaving, by the link in a letter or by the mail client's own button; and taking that back."""

from datetime import datetime

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from common.clock import utcnow
from subscriptions import links
from subscriptions.models import Subscription
from subscriptions.subscribers.frequency import rarer_siblings
from subscriptions.subscribers.leave import leave, may_say_why, say_why, undo_leaving
from subscriptions.subscribers.lineage import successor
from subscriptions.views.manage import ManageRefused, act
from subscriptions.views.pages import by_token, speak
from subscriptions.views.subscription_page import choices, subscription_context

# What may be done instead of leaving, also afterwards.
INSTEAD = frozenset({"switch", "pause"})


@by_token
def leave_newsletter(request: HttpRequest, token: str) -> HttpResponse:
    """GET asks, POST leaves. A mail client's one-click POST (RFC 8058 §3.2) has no cookie and no referrer.

    A POST may also take the leaving back, and do something else instead.
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
        # A mail client's button gets its answer at once (RFC 8058 §3.1); a browser sends the form only once.
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
