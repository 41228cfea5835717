"""/v0/subscription/confirm and /remove: links of upstream's letters."""

from collections.abc import Callable
from copy import copy
from functools import wraps

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.clock import utcnow
from common.ports import channels
from common.signing import BROKEN, TokenError
from common.token_paths import without_tail
from subscriptions import links
from subscriptions.forms.sign_up import SignUpForm
from subscriptions.models import Subscribable, Subscription
from subscriptions.rules.invitations import Suffix
from subscriptions.rules.origin import How
from subscriptions.rules.upstream_fields import UpstreamSignUp, WrongFields, read_sign_up
from subscriptions.subscribers.sign_up import is_by_code, is_open
from subscriptions.subscribers.upstream_links import (
    Gone,
    Uncheckable,
    is_waiting,
    let_confirm,
    subscription_of,
)
from subscriptions.views.confirm import confirm_sign_up as confirm_page
from subscriptions.views.confirm import leave_newsletter as leave_page
from subscriptions.views.confirm import render_confirm_page
from subscriptions.views.pages import focus_on_error, page, token_page
from subscriptions.views.sign_up import take_sign_up


class OldForm(SignUpForm):
    """Its text is unknown, so it is no proof of consent."""

    @property
    def consent(self) -> str:
        return super().consent if self.data.get("shown") else ""


@csrf_exempt  # old forms have no token; independent of any session
@require_http_methods(["GET", "HEAD", "POST"])
@page
def create_upstream(request: HttpRequest) -> HttpResponse:
    # Form fields override the URL's.
    given = dict(request.POST.lists())
    for name, values in request.GET.lists():
        given.setdefault(name, values)
    try:
        wanted = read_sign_up((name, str(value)) for name, values in given.items() for value in values)
        newsletter = _newsletter(wanted)
    except WrongFields as error:
        return render(request, "pages/upstream/refused.html", {"reason": str(error)}, status=400)
    if is_by_code(newsletter):
        return HttpResponseRedirect(links.page_url(newsletter), status=303)
    filled = {"email": wanted.email, "name": wanted.name}
    if request.method != "POST":
        return _form(request, newsletter, OldForm(initial=filled, subscribables=[newsletter]))
    form = OldForm(
        {**request.POST.dict(), **filled}, subscribables=[newsletter], ip=request.META.get("REMOTE_ADDR", "")
    )
    if is_open(newsletter) and form.is_valid():
        return take_sign_up(request, form, How.V0)
    return _form(request, newsletter, form, status=400)


def _form(
    request: HttpRequest, newsletter: Subscribable, form: SignUpForm, *, status: int = 200
) -> HttpResponse:
    focus_on_error(form)
    context = {"newsletter": newsletter, "form": form, "is_open": is_open(newsletter), "is_upstream": True}
    return render(request, "pages/embed/again.html", context, status=status)


def _newsletter(wanted: UpstreamSignUp) -> Subscribable:
    """Private newsletters and bridges are for administrators only."""
    rows, name = Subscribable.objects.with_pages(), wanted.newsletter
    newsletter = rows.named(name).first() or rows.once_named(name).first()
    if newsletter is None:
        raise WrongFields("There is no newsletter of that name (subscribableName).")
    if not channels.get(newsletter.channel).public_sign_up or wanted.type != newsletter.channel:
        raise WrongFields("Such a subscription must be made by an administrator.")
    return newsletter


UpstreamView = Callable[[HttpRequest], HttpResponse]


def by_invitation(view: UpstreamView) -> Callable[..., HttpResponse]:
    """GET and HEAD show, POST acts. The proof authorizes: no cookie, no CSRF token."""

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
    invitation = _one(request, "invitation")
    subscription = _found(request, invitation, Suffix.CONFIRM)
    if subscription is None:
        return _ours(confirm_page, "confirm", request, invitation)
    if is_waiting(subscription, now=utcnow()):
        if request.method != "POST":
            return render_confirm_page(request, [subscription])
        let_confirm(subscription=subscription)
    # After confirmation the page shows the status.
    waits = subscription.status == Subscription.Status.UNCONFIRMED
    url = links.confirm_url(subscription, now=subscription.added_at if waits else utcnow())
    return _ours(confirm_page, "confirm", request, _token(url))


@by_invitation
def remove_upstream(request: HttpRequest) -> HttpResponse:
    invitation = _one(request, "invitation")
    subscription = _found(request, invitation, Suffix.REMOVE)
    if subscription is None:
        token = f"{_one(request, 'subscriptionId')}-{invitation}"
    else:
        token = _token(links.unsubscribe_url(subscription))
    return _ours(leave_page, "unsubscribe", request, token)


def _ours(page: Callable[..., HttpResponse], name: str, request: HttpRequest, token: str) -> HttpResponse:
    """Call our page with our own URL, so that its links and forms work."""
    by_our_link = copy(request)
    try:
        by_our_link.path = reverse(f"subscriptions:{name}", args=[token])
    except NoReverseMatch as error:
        raise TokenError(gettext(BROKEN)) from error
    return page(by_our_link, token)


def _found(request: HttpRequest, invitation: str, suffix: Suffix) -> Subscription | None:
    """Return None if only our tokens can prove it."""
    number = _one(request, "subscriptionId")
    return subscription_of(subscription_id=number, invitation=invitation, suffix=suffix)


def _one(request: HttpRequest, name: str) -> str:
    return without_tail(request.POST.get(name) or request.GET.get(name, ""))


def _token(url: str) -> str:
    return url.rstrip("/").rpartition("/")[2]
