from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.clock import utcnow
from common.languages import asked_for
from common.rates import OverLimit
from subscriptions.forms.reader import SignInForm
from subscriptions.subscribers import sign_in as signing_in
from subscriptions.views import pages
from subscriptions.views.pages import by_token, page, speak


@csrf_exempt  # independent of any session
@require_http_methods(["GET", "HEAD", "POST"])
@page
def sign_in(request: HttpRequest) -> HttpResponse:
    """Same response for all addresses."""
    if request.method != "POST":
        return _form(request, SignInForm(), ended="ended" in request.GET)
    form = SignInForm(request.POST)
    if not form.is_valid():
        return _form(request, form, status=400)
    return _ask_for_link(request, form)


@cache_control(no_store=True)
def _ask_for_link(request: HttpRequest, form: SignInForm) -> HttpResponse:
    email = form.cleaned_data["email"]
    ip, language = request.META.get("REMOTE_ADDR", ""), asked_for(request)
    try:
        if not form.is_trap_sprung:
            signing_in.ask_for_link(email=email, ip=ip, now=utcnow(), language=language)
    except OverLimit:
        # About the connection only: it must not reveal requests for an address.
        form.add_error(None, gettext("Too many attempts from your network. Please try again in an hour."))
        return _form(request, form, status=429)
    return render(request, "pages/sign_in_sent.html", {"email": email, "minutes": signing_in.MINUTES})


def _form(request: HttpRequest, form: SignInForm, *, status: int = 200, ended: bool = False) -> HttpResponse:
    return render(request, "pages/sign_in.html", {"form": form, "ended": ended}, status=status)


@by_token
def sign_in_link(request: HttpRequest, token: str) -> HttpResponse:
    """GET shows a button, because programs open mailed links."""
    try:
        # A cross-site POST could sign people in to a stranger's address.
        is_from_elsewhere = request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")
        if request.method == "POST" and not is_from_elsewhere:
            signed_in = signing_in.use_link(token=token, now=utcnow())
            response: HttpResponse = HttpResponseRedirect(reverse("subscriptions:mine"))
            pages.begin_session(response, signed_in)
            return response
        reader = signing_in.destination_of_link(token=token, now=utcnow())
    except signing_in.SpentSignInLink as error:
        response = render(request, "pages/sign_in_spent.html", {"reason": str(error)}, status=400)
        # Django would log the path of a 4xx response, which contains a key.
        response._has_been_logged = True  # type: ignore[attr-defined]
        return response
    speak(signing_in.spoken_by(reader))
    return render(request, "pages/sign_in_confirm.html", {"reader": reader})
