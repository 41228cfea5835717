"""Forms on other sites."""

from collections.abc import Callable
from functools import wraps

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from subscriptions import links
from subscriptions.forms.sign_up import SignUpForm
from subscriptions.models import Subscribable
from subscriptions.rules.embed_hosts import Address, allowed, sites, sources
from subscriptions.rules.origin import How
from subscriptions.subscribers.sign_up import is_by_code, is_open
from subscriptions.views.pages import POLICY, focus_on_error, page
from subscriptions.views.sign_up import take_sign_up, told_sign_up

NewsletterView = Callable[[HttpRequest, Subscribable], HttpResponse]


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
