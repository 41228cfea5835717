"""A newsletter's page: what it is, how often it comes, the latest issue, and the form."""

import time

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import get_language_from_request
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.clock import utcnow
from delivery.views.issues import newsletter_or_404, published
from delivery.views.posts import posts_of
from subscriptions.forms import SignUpForm
from subscriptions.models import Subscribable
from subscriptions.services.signing_up import is_open, sign_up
from subscriptions.views.rhythm import rhythm
from subscriptions.views.security import page

# What one address costs more than another (an insert, a lookup) is over by then, so the clock tells nothing.
SAME_TIME_SECONDS = 0.03
# Posts of the latest issue that stand on the page in full.
SHOWN = 3


@csrf_exempt  # the form may stand on the blog itself; it changes nothing for whoever is signed in here
@require_http_methods(["GET", "HEAD", "POST"])
@page
def newsletter(request: HttpRequest, name: str) -> HttpResponse:
    """GET shows the page, POST takes a sign-up."""
    subscribable = newsletter_or_404(name)
    if request.method != "POST":
        return _page(request, subscribable, SignUpForm(subscribable=subscribable))
    if not is_open(subscribable):
        return _page(request, subscribable, SignUpForm(subscribable=subscribable), status=403)
    form = SignUpForm(request.POST, subscribable=subscribable)
    if not form.is_valid():
        return _page(request, subscribable, form, status=400)
    return _sign_up(request, subscribable, form)


def _sign_up(request: HttpRequest, subscribable: Subscribable, form: SignUpForm) -> HttpResponse:
    """The same page, in the same time, whatever the address."""
    begun = time.monotonic()
    email, name = form.cleaned_data["email"], form.cleaned_data["name"]
    if not form.is_trap_sprung:
        language = get_language_from_request(request)
        sign_up(subscribable=subscribable, email=email, name=name, now=utcnow(), language=language)
    response = render(request, "pages/check_your_mail.html", {"newsletter": subscribable, "email": email})
    response.headers["Cache-Control"] = "no-store"
    time.sleep(max(0.0, SAME_TIME_SECONDS - (time.monotonic() - begun)))
    return response


def _page(
    request: HttpRequest, subscribable: Subscribable, form: SignUpForm, status: int = 200
) -> HttpResponse:
    latest = published(subscribable).defer("html", "text").first()
    posts = posts_of(latest) if latest else []
    context = {
        "newsletter": subscribable,
        "rhythm": rhythm(subscribable),
        "form": form,
        "is_open": is_open(subscribable),
        "issue": latest,
        "posts": posts[:SHOWN],
        "more": len(posts[SHOWN:]),
    }
    return render(request, "pages/newsletter.html", context, status=status)
