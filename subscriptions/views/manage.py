"""A letter's link opens its own subscription, and no other: letters get forwarded."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from subscriptions import links
from subscriptions.forms import NameForm
from subscriptions.models import Subscription
from subscriptions.services.managing import rename
from subscriptions.services.signing_up import is_open
from subscriptions.views.rhythm import rhythm
from subscriptions.views.tokens import by_token


@by_token
def manage(request: HttpRequest, token: str) -> HttpResponse:
    """Shows the subscription; POST changes the name."""
    subscription = links.find(token, links.MANAGE)
    form = NameForm(request.POST if request.method == "POST" else None, initial=_initial(subscription))
    if request.method == "POST" and form.is_valid():
        rename(subscription=subscription, name=form.cleaned_data["name"])
        return HttpResponseRedirect(f"{request.path}?saved")
    newsletter = subscription.subscribable
    context = {
        "subscription": subscription,
        "newsletter": newsletter,
        "form": form,
        "rhythm": rhythm(newsletter),
        "saved": "saved" in request.GET,
        "page_url": links.page_url(newsletter),
        "is_open": is_open(newsletter),
        "unsubscribe_url": links.unsubscribe_url(subscription),
    }
    return render(request, "pages/manage.html", context, status=400 if form.errors else 200)


def _initial(subscription: Subscription) -> dict[str, str]:
    return {"name": subscription.display_name}
