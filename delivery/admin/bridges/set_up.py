"""Set-up page of a bridge: destinations, previews, test posts and start."""

from dataclasses import asdict
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse

from channels.base import Looks
from channels.letter import LetterError
from common.access import opens_for
from common.admin.html import object_url, page, when
from common.admin.refusals import add_refusal, report, require
from common.clock import utcnow
from common.ports import channels
from common.refused import Refused
from delivery.admin.bridges.add import (
    MAY_ADD,
    add_bridge_url,
    add_connected,
    asked_form,
    keep_begun,
    lead_back,
    lead_there,
    look_up_begun,
    new_token,
    return_url,
    set_up_url,
    take_begun,
)
from delivery.admin.bridges.forms import DestinationForm, HowForm
from delivery.bridges.connect import (
    Elsewhere,
    connections_of,
    given_destination,
    reconnect,
    typed_destination,
    why_unconnected,
)
from delivery.bridges.messages import looks_of, newest_letters, recipient_at
from delivery.bridges.trial_posts import delete_test, may_delete, post_test, standing_tests
from delivery.lanes.lanes import has_own_credentials, refusing_lane
from delivery.models import Delivery
from subscriptions.models import Destination, Subscribable, Subscription
from subscriptions.newsletters.define import alter_subscribable

MAY_SEE, MAY_CHANGE = "subscriptions.view_subscribable", "subscriptions.change_subscribable"
LOOKED_AT = 3
RECONNECT_PAGE = "bridge_reconnect"
# URL parameter and button value for a different account that gave authorisation.
OTHER = "other"
NOT_OURS = (
    "Nothing was connected. It was started in another browser or more than ten minutes ago, or was already"
    " used. Press Connect again."
)


def connection_facts(subscription: Subscription) -> dict[str, Any]:
    return {
        "subscription": subscription,
        "tests": standing_tests(subscription),
        "deletes": may_delete(subscription),
        "reconnect_url": reconnect_url(subscription),
        "disabled": disabled_words(subscription.destination),
        "refusal": refusal_words(subscription.destination),
        "has_own_credentials": has_own_credentials(subscription.destination),
    }


def disabled_words(destination: Destination) -> str:
    """Return why nothing is posted there, or ""."""
    return (destination.disabled_reason or "The service refused it.") if destination.disabled_at else ""


def refusal_words(destination: Destination) -> str:
    """Return why posts to a destination wait for a person, or ""."""
    if why := why_unconnected(destination.kind, destination.label, destination.secrets):
        return why
    lane = None if destination.disabled_at else refusing_lane(destination)
    if lane is None:
        return ""
    again = f"at {when(lane.free_at)}" if lane.free_at and lane.free_at > utcnow() else "with the next post"
    return (
        f"{destination.label} takes no posts at the moment: {lane.last_error} New posts wait. It is tried"
        f" again {again}, or when you press “Post a test”."
    )


def reconnect_url(subscription: Subscription) -> str:
    return f"{reverse(RECONNECT_PAGE, args=[subscription.subscribable.name])}?to={subscription.pk}"


def bridge_set_up(request: HttpRequest, bridge: str) -> HttpResponse:
    """Show on GET; act and redirect on POST."""
    require(request.user.has_perm(MAY_SEE))
    row = _bridge(bridge)
    kind = channels.get(row.channel)
    form = HowForm(kind, row)
    if request.method == "POST":
        require(request.user.has_perm(MAY_CHANGE))
        if request.POST.get("act") in ("save", "done"):
            form = HowForm(kind, row, request.POST)
            if _saved(form):
                return _done(request, row) if request.POST["act"] == "done" else _back(row)
        else:
            _act(request, row)
            return _back(row)
    connections = connections_of(row)
    looks, trouble = _looks(row, connections)
    context = {
        "title": str(row),
        "bridge": row,
        "kind": kind,
        "form": form,
        "connections": [connection_facts(each) for each in connections],
        "looks": looks,
        "trouble": trouble,
        "may_change": request.user.has_perm(MAY_CHANGE),
        "page_url": object_url(row),
    }
    return page(request, "admin/delivery/bridge_set_up.html", context)


def _bridge(name: str) -> Subscribable:
    row = get_object_or_404(Subscribable, name=name)
    if channels.get(row.channel).public_sign_up:
        raise Http404("It is a newsletter, not a bridge.")
    return row


def _back(bridge: Subscribable) -> HttpResponse:
    return HttpResponseRedirect(set_up_url(bridge))


def _saved(form: HowForm) -> bool:
    if not form.is_valid():
        return False
    try:
        alter_subscribable(subscribable=form.bridge, **form.changes())
    except channels.InvalidDestination as error:
        form.refuse(error)
    except ValidationError as error:
        text = getattr(error, "error_dict", {}).get("options")
        if text is None:
            add_refusal(form, error)
        else:
            form.refuse(channels.InvalidDestination(" ".join(message for one in text for message in one)))
    return not form.errors


def _done(request: HttpRequest, bridge: Subscribable) -> HttpResponse:
    if bridge.stopped:
        alter_subscribable(subscribable=bridge, stopped=False)
        messages.success(request, f"“{bridge}” posts what settles from now on.")
    return HttpResponseRedirect(object_url(bridge))


def _act(request: HttpRequest, bridge: Subscribable) -> None:
    act, key = request.POST.get("act", ""), request.POST.get("key", "")
    number = int(key) if key.isdecimal() and len(key) < 19 else 0
    if act == "test":
        for each in connections_of(bridge):
            if each.pk == number:
                report(request, lambda: _tested(each))  # noqa: B023 - called at once
    elif act == "delete":
        tests = (test for each in connections_of(bridge) for test in standing_tests(each))
        for test in tests:
            if test.pk == number:
                report(request, lambda: _taken_back(test))  # noqa: B023 - called at once


def _tested(subscription: Subscription) -> str:
    try:
        post_test(subscription=subscription, now=utcnow())
    except LetterError as error:
        raise Refused(str(error)) from error
    return f"The newest post was posted as {subscription.destination.label}."


def _taken_back(test: Delivery) -> str:
    delete_test(delivery=test, now=utcnow())
    return f"The test post of {test.destination.label} is deleted."


def _looks(bridge: Subscribable, connections: list[Subscription]) -> tuple[list[Looks], str]:
    """Return previews of the newest posts, or why there are none."""
    try:
        letters = newest_letters(bridge, now=utcnow(), count=LOOKED_AT)
        to = recipient_at(connections[0].destination) if connections else None
        return [looks_of(each, to, kind=bridge.channel) for each in letters if to], ""
    except (LetterError, Refused) as error:
        return [], str(error)


@opens_for(lambda user: bool(user.has_perm(MAY_CHANGE)))
def bridge_reconnect(request: HttpRequest, bridge: str) -> HttpResponse:
    """Renew a destination's fields and enable it. `to` is its subscription."""
    row = _bridge(bridge)
    subscription = _chosen(row, request.GET.get("to", ""))
    to, kind = subscription.destination, channels.get(row.channel)
    other = request.GET.get(OTHER, "")
    if request.method == "POST" and request.POST.get("act") == OTHER:
        return _moved(request, subscription, other)
    form = asked_form(request, partial(DestinationForm, kind, known=to.config))
    if request.method == "POST" and form.is_valid() and (answer := _answer(request, form, subscription)):
        return answer
    begun = look_up_begun(request.session, other, now=utcnow())
    context = {
        "title": f"Connect {to.label} again",
        "kind": kind,
        "form": form,
        "to": to,
        "other": begun["parsed"]["label"] if begun else "",
        "disabled": disabled_words(to),
        "back": set_up_url(row),
    }
    return page(request, "admin/delivery/bridge_reconnect.html", context)


def _chosen(bridge: Subscribable, key: str) -> Subscription:
    found = connections_of(bridge)
    chosen = [each for each in found if str(each.pk) == key] or found[:1]
    if not chosen:
        raise Http404("It posts to nothing.")
    return chosen[0]


def _answer(request: HttpRequest, form: DestinationForm, subscription: Subscription) -> HttpResponse | None:
    """Redirect to the service or the bridge. Return None if refused; the form shows the reason."""
    if form.asks_service:
        then = {"to": subscription.pk, "bridge": subscription.subscribable.name}
        return lead_there(request, form, back=reconnect_url(subscription), then=then)
    try:
        parsed = typed_destination(form.kind.key, form.destination())
        reconnect(destination=subscription.destination, parsed=parsed, now=utcnow())
    except channels.InvalidDestination as error:
        form.refuse(error)
        return None
    return _again(request, subscription)


def connected_again(
    request: HttpRequest, begun: dict[str, Any], parsed: channels.ParsedDestination
) -> HttpResponse:
    """Continue after authorisation; ask the admin if it was a different account.

    Raises InvalidDestination.
    """
    subscription = _chosen(_bridge(begun["bridge"]), str(begun["to"]))
    try:
        reconnect(destination=subscription.destination, parsed=parsed, now=utcnow())
    except Elsewhere:
        token = new_token()
        keep_begun(request.session, token, {"parsed": asdict(parsed)}, now=utcnow())
        return HttpResponseRedirect(f"{reconnect_url(subscription)}&{urlencode({OTHER: token})}")
    return _again(request, subscription)


def _moved(request: HttpRequest, subscription: Subscription, token: str) -> HttpResponse:
    begun = take_begun(request.session, token, now=utcnow())

    def moved() -> str:
        if begun is None or "parsed" not in begun:
            raise Refused("That was too long ago. Press Connect again once more.")
        parsed = channels.ParsedDestination(**begun["parsed"])
        row = reconnect(destination=subscription.destination, parsed=parsed, now=utcnow(), elsewhere=True)
        return f"It posts to {row.label} from now on."

    done = report(request, moved)
    return _back(subscription.subscribable) if done else HttpResponseRedirect(reconnect_url(subscription))


def _again(request: HttpRequest, subscription: Subscription) -> HttpResponse:
    messages.success(request, f"Connected as {subscription.destination.label} again.")
    return _back(subscription.subscribable)


def bridge_connected(request: HttpRequest) -> HttpResponse:
    """Continue once, in the same session, within ten minutes (RFC 6749 §10.12)."""
    if request.method != "GET":
        return HttpResponseNotAllowed(["GET"])
    begun = take_begun(request.session, request.GET.get("state", ""), now=utcnow())
    if begun is None or "kept" not in begun:
        messages.error(request, NOT_OURS)
        return HttpResponseRedirect(add_bridge_url())
    require(request.user.has_perms(MAY_ADD if "feeds" in begun else (MAY_CHANGE,)))
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
