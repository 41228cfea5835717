"""Confirming a sign-up."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from common.clock import utcnow
from subscriptions import links
from subscriptions.models import Subscription
from subscriptions.services import signing_up
from subscriptions.views.rhythm import rhythm
from subscriptions.views.tokens import by_token


@by_token
def confirm(request: HttpRequest, token: str) -> HttpResponse:
    """GET asks, POST confirms; who is confirmed already is told so."""
    if request.method == "POST":
        subscription = signing_up.confirm(token=token, now=utcnow())
    else:
        subscription = signing_up.awaiting(token=token, now=utcnow())
    newsletter = subscription.subscribable
    context = {"subscription": subscription, "newsletter": newsletter, "rhythm": rhythm(newsletter)}
    if subscription.status == Subscription.Status.CONFIRMED:
        context |= {"manage_url": links.manage_url(subscription), "page_url": links.page_url(newsletter)}
        return render(request, "pages/confirmed.html", context)
    return render(request, "pages/confirm.html", context)
