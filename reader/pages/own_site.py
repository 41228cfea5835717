"""A reader connects their own site: then they sign in with it, and its tokens open what is theirs here."""

from dataclasses import asdict
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from common.clock import utcnow
from common.rates import is_within
from common.text import one_line
from reader.indieauth.addresses import profile_of, site_url
from reader.indieauth.client import begin, finish
from reader.indieauth.discovery import NotConfirmed, discover
from reader.models import Reader
from reader.pages.access import for_readers, policy_to_own_sites, surroundings
from reader.people.own_sites import TakenSite, connect_site, disconnect_site
from reader.rules.identity import LONGEST_IDENTITY

SITES_A_MINUTE = 10
# In the session: what was begun and not finished.
BEGUN = "own_site"


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
def own_site(request: HttpRequest, reader: Reader) -> HttpResponse:
    """What is connected. A POST (`act`) goes to somebody's site to ask, or forgets it."""
    if request.method != "POST":
        return _page(request, reader)
    if request.POST.get("act") == "disconnect":
        disconnect_site(reader=reader)
        return HttpResponseRedirect(reverse("reader:site"))
    typed = one_line(request.POST.get("me", ""))[: LONGEST_IDENTITY + 1]
    if not is_within(f"own-site-{reader.pk}", SITES_A_MINUTE):
        problem = gettext("That was often. Please wait a minute.")
        return _page(request, reader, typed=typed, problem=problem, status=HTTPStatus.TOO_MANY_REQUESTS)
    try:
        begun = begin(discover(typed), redirect_uri=site_url("reader:site_back"), now=utcnow())
    except NotConfirmed as error:
        problem = gettext("This site could not be connected.")
        return _page(request, reader, typed=typed, problem=problem, details=str(error))
    request.session[BEGUN] = begun.kept
    return HttpResponseRedirect(begun.url)


@for_readers
@require_safe
def site_back(request: HttpRequest, reader: Reader) -> HttpResponse:
    """Where the reader's site leads back to. Whoever opens this by itself changes nothing."""
    kept = request.session.pop(BEGUN, {})
    try:
        granted = finish(kept, request.GET.dict(), now=utcnow())
        connect_site(reader=reader, me=granted.me, endpoints=asdict(granted.endpoints), now=utcnow())
    except TakenSite:
        problem = gettext("Somebody else here has connected this site.")
        return _page(request, reader, problem=problem)
    except NotConfirmed as error:
        problem = gettext("This site could not be connected.")
        return _page(request, reader, problem=problem, details=str(error))
    return HttpResponseRedirect(reverse("reader:site"))


def _page(
    request: HttpRequest,
    reader: Reader,
    *,
    typed: str = "",
    problem: str = "",
    details: str = "",
    status: int = HTTPStatus.BAD_REQUEST,
) -> HttpResponse:
    """`details` are for whoever understands English."""
    context = {
        **surroundings(reader),
        "section": "account",
        "typed": typed,
        "problem": problem,
        "details": details,
        "me": profile_of(reader),
        "microsub": site_url("reader:microsub", reader.slug),
        "webmention": site_url("reader:webmention", reader.slug),
        "longest": LONGEST_IDENTITY,
    }
    response = render(request, "reader/own_site.html", context, status=status if problem else HTTPStatus.OK)
    response.headers["Content-Security-Policy"] = policy_to_own_sites()
    return response
