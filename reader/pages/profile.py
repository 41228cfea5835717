from dataclasses import asdict
from http import HTTPStatus
from itertools import groupby

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_safe

from common.clock import utcnow
from common.rates import Limit, count_within
from common.text import one_line
from feeds.parsing.media import absolute
from feeds.parsing.opml import Listed, write_opml
from reader.indieauth.client import begin, finish
from reader.indieauth.discovery import NotConfirmed, discover, profile_of, site_url
from reader.models import Follow, Reader
from reader.pages.access import (
    confirmed,
    for_readers,
    is_connecting,
    policy_to_own_sites,
    reading_page,
    surroundings,
)
from reader.people.readers import may_read
from reader.people.tokens import TakenSite, connect_site, disconnect_site
from reader.rules.identity import LONGEST_IDENTITY

SITES = Limit("own-site", 10)
# Session key of an unfinished connection.
BEGUN = "own_site"


@for_readers
@require_http_methods(["GET", "HEAD", "POST"])
@confirmed(is_connecting, app="reader")
def own_site(request: HttpRequest, reader: Reader) -> HttpResponse:
    if request.method != "POST":
        return _page(request, reader)
    if request.POST.get("act") == "disconnect":
        disconnect_site(reader=reader)
        return HttpResponseRedirect(reverse("reader:site"))
    typed = one_line(request.POST.get("me", ""))[: LONGEST_IDENTITY + 1]
    if not count_within((SITES, str(reader.pk))):
        problem = gettext("Too many attempts. Wait a minute.")
        return _page(request, reader, typed=typed, problem=problem, status=HTTPStatus.TOO_MANY_REQUESTS)
    try:
        begun = begin(discover(typed), redirect_uri=site_url("reader:site_back"), now=utcnow())
    except NotConfirmed as error:
        problem = gettext("This site couldn’t be connected.")
        return _page(request, reader, typed=typed, problem=problem, details=str(error))
    request.session[BEGUN] = begun.kept
    return HttpResponseRedirect(begun.url)


@for_readers
@require_safe
def site_back(request: HttpRequest, reader: Reader) -> HttpResponse:
    kept = request.session.pop(BEGUN, {})
    try:
        granted = finish(kept, request.GET.dict(), now=utcnow())
        connect_site(reader=reader, me=granted.me, endpoints=asdict(granted.endpoints), now=utcnow())
    except TakenSite:
        problem = gettext("Someone else here has already connected this site.")
        return _page(request, reader, problem=problem)
    except NotConfirmed as error:
        problem = gettext("This site couldn’t be connected.")
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
    """`details` are in English only."""
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


MOST_LISTED = 2_000


@reading_page
@require_safe
def profile(request: HttpRequest, slug: str) -> HttpResponse:
    """Show an h-card, with the clients' endpoints in header and page."""
    reader = _reader(slug)
    follows = published(reader)
    links = rels(reader)
    if follows:
        links["blogroll"] = site_url("reader:blogroll", reader.slug)
    context = {
        "reader": reader,
        "name": reader.full_name,
        "me": profile_of(reader),
        "links": links,
        "channels": [
            (channel, [(one.feed, absolute(one.feed.site_url, "") or one.feed.url) for one in group])
            for channel, group in groupby(follows, key=lambda one: one.channel)
        ],
    }
    response = render(request, "reader/profile.html", context)
    response.headers["Link"] = ", ".join(f'<{url}>; rel="{rel}"' for rel, url in links.items())
    return response


@reading_page
@require_safe
def blogroll(request: HttpRequest, slug: str) -> HttpResponse:
    reader = _reader(slug)
    feeds = {follow.feed_id: follow.feed for follow in published(reader)}
    if not feeds:
        raise Http404("Nothing is published here.")
    listed = (Listed(feed.url, feed.title, feed.site_url, feed.language) for feed in feeds.values())
    lines = write_opml(listed, title=f"What {one_line(reader.full_name)} reads", created=utcnow())
    return HttpResponse("".join(lines), content_type="text/x-opml")


def rels(reader: Reader) -> dict[str, str]:
    return {
        "indieauth-metadata": site_url("reader:metadata"),
        "authorization_endpoint": site_url("reader:authorize"),
        "token_endpoint": site_url("reader:token"),
        "microsub": site_url("reader:microsub", reader.slug),
        "webmention": site_url("reader:webmention", reader.slug),
    }


def published(reader: Reader) -> list[Follow]:
    """Return follows in published channels, without feeds that need credentials."""
    rows = Follow.objects.filter(channel__reader=reader, channel__is_published=True)
    rows = rows.select_related("feed", "channel").order_by(
        "channel__position", "channel", "feed__title", "pk"
    )
    return [follow for follow in rows[:MOST_LISTED] if not follow.feed.credentials]


def _reader(slug: str) -> Reader:
    reader = Reader.objects.select_related("user").filter(slug=slug).first()
    if reader is None or not may_read(reader):
        raise Http404("No one with that name reads here.")
    return reader
