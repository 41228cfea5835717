"""OAuth callback of all services."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect

from common.clock import utcnow
from common.ports import channels
from common.refused import Refused
from delivery.admin.bridges.add import MAY_ADD, add_bridge_url, add_connected, set_up_url
from delivery.admin.bridges.oauth import lead_back, return_url, take_begun
from delivery.admin.bridges.set_up import MAY_CHANGE, connected_again
from delivery.bridges.handshake import given_destination

NOT_OURS = (
    "Nothing was connected. It was started in another browser or more than ten minutes ago, or was already"
    " used. Press Connect again."
)


def bridge_connected(request: HttpRequest) -> HttpResponse:
    """Continue once, in the same session, within ten minutes (RFC 6749 §10.12)."""
    if request.method != "GET":
        return HttpResponseNotAllowed(["GET"])
    begun = take_begun(request.session, request.GET.get("state", ""), now=utcnow())
    if begun is None or "kept" not in begun:
        messages.error(request, NOT_OURS)
        return HttpResponseRedirect(add_bridge_url())
    if not request.user.has_perms(MAY_ADD if "feeds" in begun else (MAY_CHANGE,)):
        raise PermissionDenied
    try:
        return _gone_on(request, begun)
    except (Refused, ValidationError) as error:
        return lead_back(request, begun, error)


def _gone_on(request: HttpRequest, begun: dict[str, Any]) -> HttpResponse:
    """Raises the errors of the service or of saving."""
    kind = channels.get(begun["kind"])
    params = {name: value for name, value in request.GET.items() if isinstance(value, str)}
    parsed = given_destination(
        kind, params, begun["kept"], app=begun["app"], return_url=return_url(), typed=begun["typed"]
    )
    if "feeds" not in begun:
        return connected_again(request, begun, parsed)
    bridge = add_connected(
        request, kind, parsed, feeds=begun["feeds"], name=begun["name"], title=begun["title"]
    )
    return HttpResponseRedirect(set_up_url(bridge))
