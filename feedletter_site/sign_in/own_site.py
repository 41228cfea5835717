"""Sign-in with the reader's own site (IndieAuth)."""

from dataclasses import asdict
from http import HTTPStatus

from allauth.account.utils import perform_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from common.clock import utcnow
from common.rates import Limit, count_within
from common.text import one_line
from feedletter_site.sign_in.adapters import is_own
from reader.indieauth.client import begin, finish
from reader.indieauth.discovery import NotConfirmed, discover, site_url
from reader.pages.access import policy_to_own_sites, reading_page
from reader.people.tokens import connect_site, reader_with_site
from reader.rules.identity import LONGEST_IDENTITY

# Strangers can make us contact any site.
TRIES, TRIES_OF_ALL = Limit("sign-in-site", 6), Limit("sign-in-sites", 120)
BEGUN, GOING_TO = "sign_in_site", "sign_in_site_next"


@reading_page
@require_POST
def begin_sign_in(request: HttpRequest) -> HttpResponse:
    me = one_line(request.POST.get("me", ""))[: LONGEST_IDENTITY + 1]
    tries = TRIES.by_network(str(request.META.get("REMOTE_ADDR", "")))
    if not (count_within(*tries) and count_within((TRIES_OF_ALL, ""))):
        problem = gettext("Too many attempts. Please wait a minute.")
        return _again(request, me=me, problem=problem, status=HTTPStatus.TOO_MANY_REQUESTS)
    try:
        begun = begin(discover(me), redirect_uri=site_url("reader_sign_in_back"), now=utcnow())
    except NotConfirmed as error:
        return _again(request, me=me, details=str(error))
    request.session[BEGUN], request.session[GOING_TO] = begun.kept, request.POST.get("next", "")
    return HttpResponseRedirect(begun.url)


@reading_page
@require_safe
def finish_sign_in(request: HttpRequest) -> HttpResponse:
    kept, going_to = request.session.pop(BEGUN, {}), request.session.pop(GOING_TO, "")
    try:
        granted = finish(kept, request.GET.dict(), now=utcnow())
    except NotConfirmed as error:
        return _again(request, details=str(error))
    reader = reader_with_site(granted.me)
    if reader is None:
        problem = gettext(
            "Nobody here has connected this site. Sign in with a password, then connect it under “Your site”."
        )
        return _again(request, me=granted.me, problem=problem, status=HTTPStatus.FORBIDDEN)
    if reader.user.is_staff:
        # Control of a domain must not give access to the admin.
        problem = gettext("You may use the admin of this site, so sign in with your password.")
        return _again(request, me=granted.me, problem=problem, status=HTTPStatus.FORBIDDEN)
    connect_site(reader=reader, me=granted.me, endpoints=asdict(granted.endpoints), now=utcnow())
    # A second factor is asked for here, too.
    next_url = going_to if is_own(request, going_to) else None
    response: HttpResponse = perform_login(request, reader.user, redirect_url=next_url)
    return response


def _again(
    request: HttpRequest,
    *,
    me: str = "",
    problem: str = "",
    details: str = "",
    status: int = HTTPStatus.BAD_REQUEST,
) -> HttpResponse:
    """`details` are in English."""
    problem = problem or gettext("We couldn’t sign you in with this site.")
    context = {"me": me, "problem": problem, "details": details, "next": request.POST.get("next", "")}
    response = render(request, "reader/sign_in_site.html", context, status=status)
    response.headers["Content-Security-Policy"] = policy_to_own_sites()
    return response
