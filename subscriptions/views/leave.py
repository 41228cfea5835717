"""Leaving, by the link in a letter or by the mail client's own button."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.clock import utcnow
from subscriptions import links
from subscriptions.models import Subscription
from subscriptions.services.leaving import leave
from subscriptions.services.signing_up import is_open
from subscriptions.views.tokens import by_token


@by_token
def unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """GET asks, POST leaves. A mail client's one-click POST (RFC 8058 §3.2) has no cookie and no referrer."""
    subscription = links.find(token, links.UNSUBSCRIBE)
    if request.method == "POST":
        leave(subscription=subscription, now=utcnow())
    newsletter = subscription.subscribable
    context = {"subscription": subscription, "newsletter": newsletter}
    if subscription.status == Subscription.Status.UNSUBSCRIBED:
        back = links.page_url(newsletter) if is_open(newsletter) else ""
        return render(request, "pages/left.html", {**context, "page_url": back})
    return render(request, "pages/leave.html", {**context, "manage_url": links.manage_url(subscription)})
