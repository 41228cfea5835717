"""/v0/subscription/confirm and /remove: the links in letters that upstream sent, leading to our own pages."""

from collections.abc import Callable
from copy import copy
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.clock import utcnow
from common.signing import BROKEN, TokenError
from common.token_paths import without_tail
from subscriptions import links
from subscriptions.models import Subscription
from subscriptions.rules.invitations import Suffix
from subscriptions.subscribers.upstream_links import (
    Gone,
    Uncheckable,
    is_waiting,
    let_confirm,
    subscription_of,
)
from subscriptions.views.confirm import confirm_sign_up as confirm_page
from subscriptions.views.confirm import render_confirm_page
from subscriptions.views.leave import leave_newsletter as leave_page
from subscriptions.views.pages import token_page

UpstreamView = Callable[[HttpRequest], HttpResponse]


def by_invitation(view: UpstreamView) -> Callable[..., HttpResponse]:
    """GET and HEAD show, POST acts; no cookie, no CSRF token. A link that proves nothing opens nothing."""

    @wraps(view)
    def wrapped(request: HttpRequest) -> HttpResponse:
        try:
            return view(request)
        except Gone as error:
            return render(request, "pages/upstream/gone.html", {"reason": str(error)})
        except Uncheckable as error:
            return render(request, "pages/upstream/uncheckable.html", {"reason": str(error)}, status=400)
        except TokenError as error:
            return render(request, "pages/bad_link.html", {"reason": str(error)}, status=400)

    return csrf_exempt(require_http_methods(["GET", "HEAD", "POST"])(token_page(wrapped)))


@by_invitation
def confirm_upstream(request: HttpRequest) -> HttpResponse:
    """Our page to confirm, while the link is good: upstream's links end after CONFIRM_HOURS, as ours do."""
    invitation = _one(request, "invitation")
    found = _found(request, invitation, Suffix.CONFIRM)
    if found is None:
        return _ours(confirm_page, "confirm", request, invitation)
    if is_waiting(found, now=utcnow()):
        if request.method != "POST":
            return render_confirm_page(request, [found])
        let_confirm(subscription=found)
    # Once it is confirmed, the page says what has become of it, however old the link is.
    waits = found.status == Subscription.Status.UNCONFIRMED
    url = links.confirm_url(found, now=found.added_at if waits else utcnow())
    return _ours(confirm_page, "confirm", request, _token(url))


@by_invitation
def remove_upstream(request: HttpRequest) -> HttpResponse:
    """Our page to leave. A second time it says the same."""
    invitation = _one(request, "invitation")
    found = _found(request, invitation, Suffix.REMOVE)
    if found is None:
        token = f"{_one(request, 'subscriptionId')}-{invitation}"
    else:
        token = _token(links.unsubscribe_url(found))
    return _ours(leave_page, "unsubscribe", request, token)


def _ours(page: Callable[..., HttpResponse], name: str, request: HttpRequest, token: str) -> HttpResponse:
    """Our page, as if the reader had come by a link of ours, so that its own links and forms lead on."""
    by_our_link = copy(request)
    try:
        by_our_link.path = reverse(f"subscriptions:{name}", args=[token])
    except NoReverseMatch as error:
        raise TokenError(gettext(BROKEN)) from error
    return page(by_our_link, token)


def _found(request: HttpRequest, invitation: str, suffix: Suffix) -> Subscription | None:
    """The subscription that upstream knew by that number. None: it may be a number of ours, which only our
    tokens prove."""
    number = _one(request, "subscriptionId")
    return subscription_of(subscription_id=number, invitation=invitation, suffix=suffix)


def _one(request: HttpRequest, name: str) -> str:
    """A field, trimmed as upstream does. The form counts before the address."""
    return without_tail(request.POST.get(name) or request.GET.get(name, ""))


def _token(url: str) -> str:
    return url.rstrip("/").rpartition("/")[2]
