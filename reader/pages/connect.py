"""Connects the reader's site (Micropub)."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_http_methods, require_safe

from common.clock import utcnow
from common.rates import Limit, count_within
from common.refused import Refused
from reader.indieauth.discovery import site_url
from reader.micropub.connection import ask_site, connect, disconnect
from reader.models import Reader
from reader.pages.access import confirmed, for_readers, is_connecting, policy_to_own_sites, surroundings
from reader.pages.news import lines_of
from reader.people.tokens import TakenSite
from reader.rules.micropub import LONGEST_POST_URL

# Each makes several requests to another server.
CONNECTIONS = Limit("reader-connects", 10)
KEPT_IN_SESSION = "micropub"
FAILED = gettext_noop("This site couldn’t be connected.")


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
@confirmed(is_connecting, app="reader")
def begin_connecting(request: HttpRequest, reader: Reader) -> HttpResponse:
    if request.method != "POST":
        return unconnected(request, reader, reader.me)
    if request.POST.get("act") == "disconnect":
        disconnect(reader=reader)
        return HttpResponseRedirect(reverse("reader:compose"))
    me = request.POST.get("me", "")[:LONGEST_POST_URL]
    if not count_within((CONNECTIONS, str(reader.pk))):
        problem = gettext("Too many attempts. Wait a minute.")
        return unconnected(request, reader, me, problem, status=HTTPStatus.TOO_MANY_REQUESTS)
    try:
        begun = ask_site(me=me, redirect_uri=site_url("reader:connected"), now=utcnow())
    except Refused as error:
        return unconnected(request, reader, me, gettext(FAILED), str(error))
    request.session[KEPT_IN_SESSION] = begun.kept
    return HttpResponseRedirect(begun.url)


@for_readers
@require_safe
def connected(request: HttpRequest, reader: Reader) -> HttpResponse:
    """The state in the session works once."""
    kept = request.session.pop(KEPT_IN_SESSION, {})
    try:
        connect(reader=reader, kept=kept, answer=request.GET.dict(), now=utcnow())
    except TakenSite:
        return unconnected(request, reader, "", gettext("Someone else here has already connected this site."))
    except Refused as error:
        return unconnected(request, reader, reader.me, gettext(FAILED), str(error))
    return HttpResponseRedirect(reverse("reader:compose"))


def unconnected(
    request: HttpRequest,
    reader: Reader,
    me: str,
    problem: str = "",
    details: str = "",
    *,
    status: HTTPStatus | None = None,
) -> HttpResponse:
    """`details` are in English only."""
    context = {
        **surroundings(reader),
        "section": "compose",
        "me": me,
        "problem": problem,
        "details": details,
        "lines": lines_of(reader),
    }
    status = status or (HTTPStatus.BAD_REQUEST if problem else HTTPStatus.OK)
    response = render(request, "reader/connect.html", context, status=status)
    response.headers["Content-Security-Policy"] = policy_to_own_sites()
    return response
