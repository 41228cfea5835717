"""Forms here and on other sites, and links of upstream's letters: /v0/subscription/confirm, /remove."""

from collections.abc import Callable, Sequence
from copy import copy
from datetime import datetime, timedelta
from functools import wraps
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from common.clock import utcnow
from common.languages import asked_for
from common.ports import channels
from common.signing import BROKEN, TokenError
from common.token_paths import without_tail
from subscriptions import links
from subscriptions.forms.sign_up import CodeForm, PhoneForm, SignUpForm
from subscriptions.models import Subscribable, Subscription
from subscriptions.rules.embed_hosts import Address, allowed, sites, sources
from subscriptions.rules.invitations import Suffix
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.sign_up import MOST_AT_ONCE, webmail_of
from subscriptions.rules.typos import meant
from subscriptions.rules.upstream_fields import UpstreamSignUp, WrongFields, read_sign_up
from subscriptions.subscribers import notices
from subscriptions.subscribers.antispam import new_sum
from subscriptions.subscribers.sign_up import (
    Gone,
    Uncheckable,
    confirm_by_code,
    is_by_code,
    is_open,
    is_waiting,
    let_confirm,
    sign_up,
    sign_up_parsed,
    subscription_of,
)
from subscriptions.views.confirm import confirm_sign_up as confirm_page
from subscriptions.views.confirm import leave_newsletter as leave_page
from subscriptions.views.confirm import read_told, render_confirm_page, told_url
from subscriptions.views.pages import POLICY, focus_on_error, page, refusing_openly, same_time, token_page

NewsletterView = Callable[[HttpRequest, Subscribable], HttpResponse]


@cache_control(no_store=True)
@refusing_openly
def take_sign_up(request: HttpRequest, form: SignUpForm, how: How, said_at: str = "") -> HttpResponse:
    """Redirect to the same page, in the same time for all addresses.

    `said_at`: another page. Upstream's forms get no redirect, since programs post them.
    """
    email, name = form.cleaned_data["email"], form.cleaned_data["name"]
    with same_time():
        if not form.is_robot:
            sign_up(
                subscribables=form.subscribables,
                email=email,
                name=name,
                origin=Origin.of(request.META, how, form.consent),
                now=utcnow(),
                language=asked_for(request),
            )
        if how == How.V0:
            context = asked_context(form.subscribables, email, name)
            return render(request, "pages/check_your_mail.html", context)
        names = " ".join(each.name for each in form.subscribables)
        values = {"email": email, "name": name, "newsletters": names}
        return HttpResponseRedirect(told_url(said_at or reverse("subscriptions:asked"), values), status=303)


def asked_context(newsletters: Sequence[Subscribable], email: str, name: str) -> dict[str, Any]:
    return {
        "newsletter": newsletters[0],
        "newsletters": newsletters,
        "email": email,
        "meant": meant(email),
        "webmail": webmail_of(email),
        "name": name,
    }


def told_sign_up(request: HttpRequest) -> dict[str, Any] | None:
    values = read_told(request)
    if values is None:
        return None
    names = values.get("newsletters", "").split()[:MOST_AT_ONCE]
    rows = {each.name: each for each in Subscribable.objects.with_pages().named(*names)}
    newsletters = [rows[name] for name in names if name in rows]
    return (
        asked_context(newsletters, values.get("email", ""), values.get("name", "")) if newsletters else None
    )


@require_safe
@cache_control(no_store=True)
@page
def asked(request: HttpRequest) -> HttpResponse:
    context = told_sign_up(request)
    if context is None:
        return HttpResponseRedirect(reverse("subscriptions:newsletters"))
    return render(request, "pages/check_your_mail.html", context)


@never_cache
@require_safe
def challenge(request: HttpRequest) -> JsonResponse:
    """Works for forms on any site. Nothing is stored."""
    response = JsonResponse({"challenge": new_sum(now=utcnow())})
    response.headers["Access-Control-Allow-Origin"] = "*"
    return response


@cache_control(no_store=True)
@refusing_openly
def take_phone_sign_up(request: HttpRequest, form: PhoneForm, how: How) -> HttpResponse:
    """Redirect in the same time for all numbers."""
    now = utcnow()
    with same_time():
        if not form.is_robot:
            sign_up_parsed(
                subscribables=form.subscribables,
                parsed=form.parsed,
                name="",
                origin=Origin.of(request.META, how, form.consent),
                now=now,
                language=asked_for(request),
            )
        values = {
            "core": form.parsed.core,
            "label": form.parsed.label,
            "newsletter": form.subscribables[0].name,
            "at": str(now.timestamp()),
            "tries": "0",
        }
        return HttpResponseRedirect(told_url(reverse("subscriptions:code"), values), status=303)


@csrf_exempt  # the URL authorizes; independent of any session
@require_http_methods(["GET", "HEAD", "POST"])
@token_page
def enter_code(request: HttpRequest) -> HttpResponse:
    """The response depends only on the input, never on what is known of the number."""
    told = read_told(request)
    newsletter = Subscribable.objects.with_pages().named((told or {}).get("newsletter", "")).first()
    if told is None or newsletter is None or not told.get("core"):
        return HttpResponseRedirect(reverse("subscriptions:newsletters"))
    now, tries = utcnow(), int(told.get("tries", "0"))
    asked_at = datetime.fromtimestamp(float(told.get("at", "0")), tz=now.tzinfo)
    is_late = now >= asked_at + notices.CODE_GOOD_FOR
    context: dict[str, Any] = {
        "newsletter": newsletter,
        "number": told.get("label", ""),
        "is_over": is_late or tries >= notices.MOST_TRIES,
        "is_late": is_late,
        "path": request.get_full_path(),
        "tries_left": notices.MOST_TRIES - tries,
        "minutes": int(notices.CODE_GOOD_FOR / timedelta(minutes=1)),
    }
    if request.method != "POST" or context["is_over"]:
        form = CodeForm()
        if tries and not context["is_over"]:
            context["wrong"] = gettext("That’s not the code. Please check the message again.")
        return render(request, "pages/code.html", {**context, "form": form})
    form = CodeForm(request.POST)
    if not form.is_valid():
        return render(request, "pages/code.html", {**context, "form": form}, status=400)
    with same_time():
        confirmed = confirm_by_code(
            kind=newsletter.channel,
            core=told["core"],
            typed=form.cleaned_data["code"],
            now=now,
            origin=Origin(How.PAGE, ip=request.META.get("REMOTE_ADDR", "")),
        )
    if not confirmed:
        values = {**told, "tries": str(tries + 1)}
        return HttpResponseRedirect(told_url(request.path, values), status=303)
    place = links.confirm_url(*confirmed, now=now).removeprefix(settings.SITE_URL)
    return HttpResponseRedirect(place, status=303)


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


def of_newsletter(view: NewsletterView) -> Callable[..., HttpResponse]:
    """Pass the newsletter unless it is private. Uses no cookies."""

    @wraps(view)
    def wrapped(request: HttpRequest, name: str) -> HttpResponse:
        newsletter = Subscribable.objects.with_pages().named(name).first()
        if newsletter is None:
            raise Http404
        return view(request, newsletter)

    return csrf_exempt(require_http_methods(["GET", "HEAD", "POST"])(wrapped))


@xframe_options_exempt
@of_newsletter
def embed(request: HttpRequest, newsletter: Subscribable) -> HttpResponse:
    if is_by_code(newsletter):
        # A frame has no room for the second page.
        response = render(request, "pages/embed/elsewhere.html", {"newsletter": newsletter})
        return _framed(response, newsletter)
    form = SignUpForm(
        request.POST if request.method == "POST" else None,
        subscribables=[newsletter],
        ip=request.META.get("REMOTE_ADDR", ""),
    )
    if request.method == "POST" and is_open(newsletter) and form.is_valid():
        how = How.WIDGET if request.GET.get("by") == "widget" else How.EMBED
        # The same URL shows the result, so `by` is kept.
        response = take_sign_up(
            request, form, how, f"{request.path}{'?by=widget' if how == How.WIDGET else ''}"
        )
    elif request.method != "POST" and (done := told_sign_up(request)):
        response = render(request, "pages/embed/done.html", done)
        response["Cache-Control"] = "no-store"
    else:
        focus_on_error(form)
        context = {"newsletter": newsletter, "form": form, "is_open": is_open(newsletter)}
        response = render(request, "pages/embed/form.html", context, status=400 if form.errors else 200)
    return _framed(response, newsletter)


def _framed(response: HttpResponse, newsletter: Subscribable) -> HttpResponse:
    # Only the newsletter's sites and our admin may frame it.
    ancestors = " ".join(["'self'", *sources(sites(newsletter.embed_hosts))])
    response["Content-Security-Policy"] = (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; worker-src 'self';"
        f" img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors {ancestors}"
    )
    return response


@of_newsletter
@page
def subscribe_from_site(request: HttpRequest, newsletter: Subscribable) -> HttpResponse:
    """Handle another site's own form, and redirect back if allowed."""
    if request.method != "POST" or is_by_code(newsletter):
        return HttpResponseRedirect(links.page_url(newsletter), status=303)
    back = allowed(newsletter.embed_hosts, request.POST.get("return_to", ""))
    form = SignUpForm(request.POST, subscribables=[newsletter], ip=request.META.get("REMOTE_ADDR", ""))
    if not is_open(newsletter):
        return _again(request, newsletter, form, back, status=403)
    if not form.is_valid():
        return _again(request, newsletter, form, back, status=400)
    answer = take_sign_up(request, form, How.EMBED)
    return HttpResponseRedirect(str(back), status=303) if back and answer.status_code == 303 else answer


def _again(
    request: HttpRequest, newsletter: Subscribable, form: SignUpForm, back: Address | None, *, status: int
) -> HttpResponse:
    focus_on_error(form)
    context = {"newsletter": newsletter, "form": form, "is_open": is_open(newsletter), "back": back or ""}
    response = render(request, "pages/embed/again.html", context, status=status)
    if back is not None:
        # Browsers apply form-action to redirects after a form too.
        response["Content-Security-Policy"] = POLICY.replace(
            "form-action 'self'", f"form-action 'self' {back.origin}"
        )
    return response
