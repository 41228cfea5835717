"""The page “Add a bridge”: the service, then where it posts to."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from common.admin.html import add_url, list_url
from common.admin.refusals import add_refusal
from common.clock import utcnow
from common.ports import channels
from delivery.accounts.services import lacks_account
from delivery.admin.bridges.forms import ConnectForm
from delivery.bridges.connect import connect_bridge
from delivery.models import ServiceAccount
from feeds.models import Feed
from subscriptions.admin.newsletter import free_name
from subscriptions.models import Subscribable

MAY_ADD = ("subscriptions.add_subscribable", "subscriptions.add_subscription")
ADD_PAGE, SET_UP_PAGE = "add_bridge", "bridge_set_up"


def set_up_url(bridge: Subscribable) -> str:
    """Where a bridge is looked at and tried."""
    return reverse(SET_UP_PAGE, args=[bridge.name])


def add_bridge_url(**given: Any) -> str:
    """The page that adds one, for a feed (`feed`) or beside a newsletter (`newsletter`), by their keys."""
    url = reverse(ADD_PAGE)
    return f"{url}?{urlencode(given)}" if given else url


def add_bridge(request: HttpRequest) -> HttpResponse:
    """GET shows the services, or the form of one (`kind`); POST connects."""
    if not request.user.has_perms(MAY_ADD):
        raise PermissionDenied
    feeds = _given_feeds(request)
    given = {name: request.GET[name] for name in ("feed", "newsletter") if name in request.GET}
    kinds = {kind.key: kind for kind in channels.bridge_kinds()}
    kind = kinds.get(request.GET.get("kind", ""))
    context: dict[str, Any] = {
        **admin.site.each_context(request),
        "title": f"Add a bridge to {kind.label}" if kind else "Add a bridge",
        "back": add_bridge_url(**given) if kind else list_url(Subscribable),
        "has_feeds": Feed.objects.filter(dropping=False).exists(),
        "add_feed_url": add_url(Feed),
    }
    if kind is None or not context["has_feeds"]:
        context["services"] = [(each, add_bridge_url(kind=each.key, **given)) for each in kinds.values()]
        return TemplateResponse(request, "admin/delivery/bridge_services.html", context)
    form = ConnectForm(kind, request.POST or None, initial=_initial(kind, feeds))
    if request.method == "POST" and form.is_valid() and (bridge := _connected(request, form)):
        return HttpResponseRedirect(set_up_url(bridge))
    accounts_url = add_url(ServiceAccount, kind=kind.key) if lacks_account(kind) else ""
    context |= {"kind": kind, "form": form, "accounts_url": accounts_url}
    return TemplateResponse(request, "admin/delivery/bridge_add.html", context)


def _connected(request: HttpRequest, form: ConnectForm) -> Subscribable | None:
    """The new bridge, which posts nothing yet. None where it was refused, which the form shows."""
    data = form.cleaned_data
    try:
        made = connect_bridge(
            name=data["name"],
            title=data["title"],
            channel=form.kind.key,
            feeds=list(data["feeds"]),
            data=form.destination(),
            now=utcnow(),
            stopped=True,
            time_zone=settings.TIME_ZONE,
        )
    except channels.InvalidDestination as error:
        form.refuse(error)
    except ValidationError as error:
        add_refusal(form, error)
    else:
        messages.success(request, f"Connected as {made.destination.label}. Nothing is posted yet.")
        return made.subscribable
    return None


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
    """A bridge begins with the words of its first feed."""
    title = f"{feeds[0]} on {kind.label}"[:200] if feeds else ""
    name = free_name(str(feeds[0])) if feeds else ""
    return {"feeds": [feed.pk for feed in feeds], "title": title, "name": name}
