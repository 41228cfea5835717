"""ActivityPub documents of newsletters, WebFinger (RFC 7033), NodeInfo 2.1, and the inbox."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import cache_control
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from channels.activitypub.message import ACTIVITY_JSON, CONTEXT, Actor, IssueObject, object_id, tombstone_of
from channels.activitypub.message import issue_object as object_of
from channels.activitypub.signatures import BadSignature, SignedRequest
from channels.base import CannotPost
from channels.http.transport import server_url
from common.body_limits import takes_body
from common.clock import utcnow
from common.rates import count_within
from delivery.bridges.corrections import letter_now
from delivery.links import issue_url
from delivery.models import Issue
from delivery.views.issues import published
from fediverse import exchange
from fediverse.actors import actor_document, handle_of, host, site_document
from fediverse.models import Actor as ActorRow
from fediverse.rules.activities import LARGEST, Malformed, newsletter_of, read
from subscriptions.branding.brands import brand_of
from subscriptions.links import page_url
from subscriptions.models import Subscribable
from subscriptions.views.pages import page

ON_A_PAGE = 20
NODEINFO = "http://nodeinfo.diaspora.software/ns/schema/"
NODEINFO_VERSIONS = ("2.1", "2.0")


def cached(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    return require_safe(cache_control(public=True, max_age=300)(view))


def _activity(document: Mapping[str, Any], *, status: int = 200) -> JsonResponse:
    return JsonResponse({"@context": CONTEXT, **document}, content_type=ACTIVITY_JSON, status=status)


def _actor_or_404(name: str) -> ActorRow:
    rows = ActorRow.objects.select_related("newsletter").filter(is_on=True)
    return get_object_or_404(rows, newsletter__in=Subscribable.objects.with_pages().named(name))


@cached
def webfinger(request: HttpRequest) -> HttpResponse:
    """Find a newsletter by `acct:name@host`, or by its page or actor."""
    resource = request.GET.get("resource", "")
    if resource.startswith("acct:"):
        name, _, where = resource.removeprefix("acct:").removeprefix("@").rpartition("@")
        name = name.lower() if where.lower() == host().lower() else ""
    else:
        page = f"{resource.removesuffix('actor').rstrip('/')}/actor"
        name = newsletter_of(page, settings.SITE_URL)
    row = _actor_or_404(name)
    page = page_url(row.newsletter)
    document = {
        "subject": f"acct:{handle_of(row.newsletter).removeprefix('@')}",
        "aliases": [page, Actor(page).id],
        "links": [
            {"rel": "self", "type": ACTIVITY_JSON, "href": Actor(page).id},
            {"rel": "http://webfinger.net/rel/profile-page", "type": "text/html", "href": page},
        ],
    }
    headers = {"Access-Control-Allow-Origin": "*"}
    return JsonResponse(document, content_type="application/jrd+json", headers=headers)


@cached
def nodeinfo_links(request: HttpRequest) -> HttpResponse:
    links = [
        {"rel": f"{NODEINFO}{version}", "href": f"{settings.SITE_URL}/nodeinfo/{version}"}
        for version in NODEINFO_VERSIONS
    ]
    return JsonResponse({"links": links})


@cached
def nodeinfo(request: HttpRequest, version: str) -> HttpResponse:
    if version not in NODEINFO_VERSIONS:
        raise Http404
    document = {
        "version": version,
        "software": {"name": "feedletter", "version": settings.VERSION},
        "protocols": ["activitypub"],
        "services": {"inbound": ["atom1.0", "rss2.0"], "outbound": ["rss2.0"]},
        "openRegistrations": False,
        "usage": {"users": {"total": ActorRow.objects.filter(is_on=True).count()}},
        "metadata": {},
    }
    return JsonResponse(document, content_type=f'application/json; profile="{NODEINFO}{version}#"')


@cached
def site_actor(request: HttpRequest) -> HttpResponse:
    return _activity(site_document())


@cached
def actor(request: HttpRequest, name: str) -> HttpResponse:
    return _activity(actor_document(_actor_or_404(name)))


@cached
def followers(request: HttpRequest, name: str) -> HttpResponse:
    """Only their number is public."""
    row = _actor_or_404(name)
    address = Actor(page_url(row.newsletter)).followers
    return _activity({"id": address, "type": "OrderedCollection", "totalItems": row.followers.count()})


@require_safe
@page
def follow(request: HttpRequest, name: str) -> HttpResponse:
    """Lead to the visitor's server, whose address they typed. A link: our policy forbids a redirect."""
    newsletter = _actor_or_404(name).newsletter
    try:
        server = server_url(request.GET.get("server", "").rpartition("@")[2], example="mastodon.example")
        url = f"{server}/authorize_interaction?{urlencode({'uri': Actor(page_url(newsletter)).id})}"
    except ValueError:
        server = url = ""
    context = {"newsletter": newsletter, "brand": brand_of(newsletter), "handle": handle_of(newsletter)}
    return render(request, "pages/fediverse.html", {**context, "url": url, "server": urlsplit(server).netloc})


@cached
def outbox(request: HttpRequest, name: str) -> HttpResponse:
    """Return a collection of issues, or with `?before=key` a page of it, newest first."""
    newsletter = _actor_or_404(name).newsletter
    address, issues = f"{page_url(newsletter)}outbox", published(newsletter)
    before = request.GET.get("before", "")
    if not (before.isdecimal() and len(before) < 19):
        collection = {"id": address, "type": "OrderedCollection", "totalItems": issues.count()}
        return _activity({**collection, "first": f"{address}?before={2**53}"})
    rows = list(issues.filter(pk__lt=int(before)).order_by("-pk")[:ON_A_PAGE])
    items = [made.activity("Create", "create") for row in rows if (made := _made(row, newsletter))]
    page: dict[str, Any] = {"id": f"{address}?before={before}", "type": "OrderedCollectionPage"}
    if len(rows) == ON_A_PAGE:
        page["next"] = f"{address}?before={rows[-1].pk}"
    return _activity({**page, "partOf": address, "orderedItems": items})


@cached
def issue_object(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Return an issue with its corrections, or 410 if its post was withdrawn."""
    newsletter = _actor_or_404(name).newsletter
    issue = get_object_or_404(published(newsletter), pk=pk)
    made = _made(issue, newsletter)
    if made is None:
        return _activity(tombstone_of(object_id(issue_url(issue))), status=410)
    return _activity(made.fields)


def _made(issue: Issue, newsletter: Subscribable) -> IssueObject | None:
    issue.subscribable = newsletter
    letter = letter_now(issue)
    try:
        return object_of(letter) if letter else None
    except CannotPost:
        raise Http404 from None


@takes_body(LARGEST)
@csrf_exempt
@require_POST
def inbox(request: HttpRequest, name: str = "") -> HttpResponse:
    """Take what concerns us; a worker does the rest. Other activities get 202, too, as is usual."""
    # Costs least, so it is asked first.
    if not count_within(*exchange.FROM_A_NETWORK.by_network(str(request.META.get("REMOTE_ADDR", "")))):
        return _answer(429, exchange.TOO_MANY)
    headers = {name.lower(): value for name, value in request.headers.items()}
    # The address that the sender signed, whatever a proxy makes of it.
    headers["host"] = host()
    url = f"{settings.SITE_URL}{request.get_full_path()}"
    try:
        asked = read(request.body, site=settings.SITE_URL)
        if asked is not None:
            exchange.receive(SignedRequest("POST", url, headers, request.body), asked, now=utcnow())
    except (Malformed, UnicodeDecodeError) as error:
        return _answer(400, str(error))
    except BadSignature as error:
        return _answer(401, str(error))
    except exchange.TooMany:
        return _answer(429, exchange.TOO_MANY)
    return HttpResponse(status=202)


def _answer(status: int, text: str) -> HttpResponse:
    response = JsonResponse({"error": text}, status=status)
    # Anybody can call this very often.
    response._has_been_logged = True  # type: ignore[attr-defined]
    if status == 429:
        response["Retry-After"] = "60"
    return response
