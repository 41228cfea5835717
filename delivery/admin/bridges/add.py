"""Page “Add a bridge”: the service, its authorisation (OAuth), then the destination."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.sessions.backends.base import SessionBase
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils import timezone

from channels.oauth import NotConnected
from common.access import opens_for
from common.admin.html import add_url, list_url, page
from common.admin.refusals import add_refusal, refusal_sentence, require
from common.clock import utcnow
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.secrets import decrypt, encrypt
from delivery.accounts.accounts import add_service_account, free_account_name, lacks_account
from delivery.admin.bridges.forms import ApplicationForm, ConnectForm, DestinationForm
from delivery.bridges.connect import connect_bridge, oauth_of, send_to_service, typed_destination
from delivery.models import ServiceAccount
from feeds.models import Feed
from subscriptions.forms.admin import free_name
from subscriptions.models import Subscribable

MAY_ADD = ("subscriptions.add_subscribable", "subscriptions.add_subscription")
MAY_ADD_ACCOUNT = "delivery.add_serviceaccount"
# Optional parameters of the page.
GIVEN = ("feed", "newsletter")
# Button value: ask the service.
ASK = "ask"
ADD_PAGE, SET_UP_PAGE, APPLICATION_PAGE = "add_bridge", "bridge_set_up", "bridge_application"
IN_SESSION = "bridges_begun"
# Open windows per session.
MOST_BEGUN = 4
LASTS = timedelta(minutes=10)
F = TypeVar("F", bound=DestinationForm)
BACK_PAGE = "bridge_connected"
# URL parameter for what was typed before the service refused.
TYPED = "typed"


def set_up_url(bridge: Subscribable) -> str:
    return reverse(SET_UP_PAGE, args=[bridge.name])


def add_bridge_url(**given: Any) -> str:
    """Return the page's URL, for a `feed` or beside a `newsletter`, by primary key."""
    url = reverse(ADD_PAGE)
    return f"{url}?{urlencode(given)}" if given else url


@opens_for(lambda user: bool(user.has_perms(MAY_ADD)))
def add_bridge(request: HttpRequest) -> HttpResponse:
    """Show the services or the form of one (`kind`) on GET; connect on POST."""
    feeds = _given_feeds(request)
    given = {name: request.GET[name] for name in GIVEN if name in request.GET}
    kinds = {kind.key: kind for kind in channels.bridge_kinds()}
    kind = kinds.get(request.GET.get("kind", ""))
    context: dict[str, Any] = {
        "title": f"Add a bridge to {kind.label}" if kind else "Add a bridge",
        "back": add_bridge_url(**given) if kind else list_url(Subscribable),
        "has_feeds": Feed.objects.filter(dropping=False).exists(),
        "add_feed_url": add_url(Feed),
    }
    if kind is None or not context["has_feeds"]:
        context["services"] = [(each, add_bridge_url(kind=each.key, **given)) for each in kinds.values()]
        return page(request, "admin/delivery/bridge_services.html", context)
    form = asked_form(request, partial(ConnectForm, kind, initial=_initial(kind, feeds)))
    if request.method == "POST" and form.is_valid() and (answer := _answer(request, form, given)):
        return answer
    accounts_url = add_url(ServiceAccount, kind=kind.key) if lacks_account(kind) else ""
    context |= {"kind": kind, "form": form, "accounts_url": accounts_url}
    if form.oauth and not form.can_ask and request.user.has_perm(MAY_ADD_ACCOUNT):
        app_url = f"{reverse(APPLICATION_PAGE, args=[kind.key])}?{urlencode(given)}"
        context |= {"app_url": app_url}
    return page(request, "admin/delivery/bridge_add.html", context)


def add_application(request: HttpRequest, kind: str) -> HttpResponse:
    """Show how to register an application, and store it for all bridges to that service."""
    require(request.user.has_perm(MAY_ADD_ACCOUNT))
    oauth = next((oauth_of(one) for one in channels.bridge_kinds() if one.key == kind), None)
    if oauth is None or not oauth.account_fields:
        raise Http404("It needs no application.")
    given = {name: request.GET[name] for name in GIVEN if name in request.GET}
    back, form = add_bridge_url(kind=kind, **given), ApplicationForm(oauth, request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = add_service_account(
                kind=oauth.key, name=free_account_name(oauth.key), values=form.values(), now=utcnow()
            )
        except channels.InvalidDestination as error:
            form.refuse(error)
        else:
            messages.success(request, f"The {oauth.label} is kept as {made}. Now press Connect.")
            return HttpResponseRedirect(back)
    context = {
        "title": f"Add a {oauth.label}",
        "oauth": oauth,
        "form": form,
        "return_url": return_url(),
        "wants_https": oauth.needs_https and not return_url().startswith("https:"),
        "back": back,
    }
    return page(request, "admin/delivery/bridge_application.html", context)


def _answer(request: HttpRequest, form: ConnectForm, given: dict[str, str]) -> HttpResponse | None:
    """Redirect to the service or the new bridge. Return None if refused; the form shows the reason."""
    data = form.cleaned_data
    named: dict[str, Any] = {"name": data["name"], "title": data["title"]}
    if form.asks_service:
        then = {**named, "feeds": [feed.pk for feed in data["feeds"]]}
        return lead_there(request, form, back=add_bridge_url(kind=form.kind.key, **given), then=then)
    try:
        parsed = typed_destination(form.kind.key, form.destination())
        feeds = [feed.pk for feed in data["feeds"]]
        return HttpResponseRedirect(
            set_up_url(add_connected(request, form.kind, parsed, feeds=feeds, **named))
        )
    except channels.InvalidDestination as error:
        form.refuse(error)
    except ValidationError as error:
        add_refusal(form, error)
    return None


def add_connected(
    request: HttpRequest,
    kind: channels.ChannelSpec,
    parsed: channels.ParsedDestination,
    *,
    feeds: list[int],
    name: str,
    title: str,
) -> Subscribable:
    """Add a bridge that posts nothing yet. Raises InvalidDestination and ValidationError."""
    made = connect_bridge(
        name=name,
        title=title,
        channel=kind.key,
        feeds=list(Feed.objects.filter(pk__in=feeds, dropping=False)),
        parsed=parsed,
        now=utcnow(),
        stopped=True,
        time_zone=timezone.get_current_timezone_name(),
    )
    messages.success(request, f"Connected as {made.destination.label}. Nothing is posted yet.")
    return made.subscribable


def _given_feeds(request: HttpRequest) -> list[Feed]:
    feed, newsletter = request.GET.get("feed", ""), request.GET.get("newsletter", "")
    rows = Feed.objects.filter(dropping=False)
    if feed.isdecimal() and len(feed) < 19:
        return list(rows.filter(pk=feed))
    if newsletter.isdecimal() and len(newsletter) < 19:
        return list(rows.filter(subscribables=int(newsletter)))
    only = list(rows[:2])
    return only if len(only) == 1 else []


def _initial(kind: channels.ChannelSpec, feeds: list[Feed]) -> dict[str, Any]:
    title = f"{feeds[0]} on {kind.label}"[:200] if feeds else ""
    name = free_name(str(feeds[0])) if feeds else ""
    return {"feeds": [feed.pk for feed in feeds], "title": title, "name": name}


def new_token() -> str:
    return secrets.token_urlsafe(32)


def keep_begun(session: SessionBase, token: str, values: Mapping[str, Any], *, now: datetime) -> None:
    """Store JSON-serializable values."""
    entry = [_digest(token), (now + LASTS).timestamp(), encrypt({"values": json.dumps(values)})]
    session[IN_SESSION] = [*session.get(IN_SESSION, []), entry][-MOST_BEGUN:]


def look_up_begun(session: SessionBase, token: str, *, now: datetime) -> dict[str, Any] | None:
    """Return the stored values, or None if missing or expired."""
    found = None
    for digest, ends, sealed in session.get(IN_SESSION, []):
        # Compares all, so that timing reveals nothing.
        if hmac.compare_digest(digest, _digest(token)) and now.timestamp() < ends:
            found = sealed
    try:
        return dict(json.loads(decrypt(found)["values"])) if found else None
    except ValueError:
        return None


def take_begun(session: SessionBase, token: str, *, now: datetime) -> dict[str, Any] | None:
    """Remove the stored values and return them. Saves the session at once."""
    found = look_up_begun(session, token, now=now)
    session[IN_SESSION] = [entry for entry in session.get(IN_SESSION, []) if entry[0] != _digest(token)]
    session.save()
    return found


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def return_url() -> str:
    """Return the redirect URI that applications register at the service."""
    return f"{settings.SITE_URL}{reverse(BACK_PAGE)}"


def lead_there(
    request: HttpRequest, form: DestinationForm, *, back: str, then: Mapping[str, Any]
) -> HttpResponse | None:
    """Return a page that redirects to the service, or None if refused; the form shows the reason.

    `back` is the form's URL, `then` the state for the callback. The form must be valid.
    """
    oauth, now, state = form.oauth, utcnow(), new_token()
    try:
        if oauth is None:
            raise NotConnected(f"{form.kind.label} cannot be asked.")
        # Session cookies belong to one host: from another, the user would return without a session.
        if request.get_host() != urlsplit(settings.SITE_URL).netloc:
            raise NotConnected(
                f"{oauth.service} leads back to {settings.SITE_URL}, but you opened {request.get_host()}."
                " Open the admin there, and press Connect."
            )
        given = form.known_before()
        authorisation, app = send_to_service(
            oauth, given, app=form.chosen_app(), return_url=return_url(), state=state, now=now
        )
    except (InvalidDestination, NotConnected) as error:
        form.refuse(error)
        return None
    begun = {
        "kind": form.kind.key,
        "app": app,
        "kept": dict(authorisation.kept),
        "typed": form.typed_besides(),
        "words": form.words,
        "back": back,
        **then,
    }
    keep_begun(request.session, state, begun, now=now)
    place = oauth.known_as(given)
    context = {"title": f"Allow access at {place}", "place": place, "url": authorisation.url, "back": back}
    return page(request, "admin/delivery/bridge_leaving.html", context)


def lead_back(request: HttpRequest, begun: Mapping[str, Any], error: Exception) -> HttpResponse:
    token = new_token()
    kept = {"words": begun["words"], "error": refusal_sentence(error)}
    keep_begun(request.session, token, kept, now=utcnow())
    glue = "&" if "?" in begun["back"] else "?"
    return HttpResponseRedirect(f"{begun['back']}{glue}{urlencode({TYPED: token})}")


def asked_form(request: HttpRequest, make: Callable[..., F]) -> F:
    """Return the form as it was posted, or as before the service refused, or a new one."""
    kept = look_up_begun(request.session, request.GET.get(TYPED, ""), now=utcnow())
    if request.method == "POST" or kept is None or "error" not in kept:
        return make(request.POST or None, asks_service=request.POST.get("act") == ASK)
    words = QueryDict(mutable=True)
    for name, values in kept["words"].items():
        words.setlist(name, values)
    form = make(words, asks_service=True)
    form.is_valid()
    form.refuse(InvalidDestination(kept["error"]))
    return form
