"""Web push: subscribe, unsubscribe, and the browser's files."""

import logging
from functools import cache
from pathlib import Path

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from common.clock import utcnow
from common.languages import asked_for
from common.ports.channels import InvalidDestination
from common.rates import OverLimit
from common.refused import Refused
from delivery.accounts.dkim_keys import push_public_key
from delivery.views.issues import newsletter_or_404
from subscriptions.models import Subscribable
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers.antispam import note_refusal
from subscriptions.subscribers.devices import (
    is_gone,
    is_told,
    renew_device,
    stop_telling,
    takes_devices,
    tell_device,
)

log = logging.getLogger(__name__)

WORKER = Path(__file__).parents[1] / "static/feedletter/push-worker.js"
# As in the Push API's PushSubscription.
FIELDS = ("endpoint", "p256dh", "auth")
NO_DEVICE = "An address of a push service was refused: %s"


def device_key(newsletter: Subscribable) -> str:
    """Return the public key for browsers, or "" without notifications."""
    if not takes_devices(newsletter):
        return ""
    try:
        return push_public_key()
    except ValueError:
        log.exception("the key of notifications cannot be read")
        return ""


@csrf_exempt  # reads no cookie; the data prove that they come from the device
@never_cache
@require_POST
def device(request: HttpRequest, name: str) -> HttpResponse:
    """Subscribe (`act`: “tell”), unsubscribe (“stop”), or only report (“ask”).

    Returns whether the device gets notifications and whether its push service dropped it, or an error.
    """
    newsletter, data, now = newsletter_or_404(name), _fields(request), utcnow()
    act = request.POST.get("act")
    try:
        if act == "tell":
            origin = Origin.of(request.META, How.PAGE, _consent())
            tell_device(newsletter=newsletter, data=data, origin=origin, now=now, language=asked_for(request))
        elif act == "stop":
            stop_telling(newsletter=newsletter, data=data, now=now)
        return JsonResponse({"told": is_told(newsletter=newsletter, data=data), "gone": is_gone(data)})
    except OverLimit as over:
        note_refusal(over, subscribables=[newsletter], now=now)
        return _refused(gettext("Too many have asked just now. Please try again later."), 429)
    except InvalidDestination as error:
        log.info(NO_DEVICE, error)
        return _refused(gettext("Your browser's push service cannot be used from here."), 400)
    except Refused as error:
        return _refused(str(error), 403)


@csrf_exempt  # as above
@never_cache
@require_POST
def renewed(request: HttpRequest) -> HttpResponse:
    """Record the push service's new address for a device."""
    try:
        done = renew_device(old=_fields(request, "old_"), data=_fields(request), now=utcnow())
    except InvalidDestination as error:
        log.info(NO_DEVICE, error)
        done = False
    return JsonResponse({"told": done}, status=200 if done else 400)


@require_safe
@cache_control(no_cache=True)
def worker(request: HttpRequest) -> HttpResponse:
    """Return the service worker. At the root, so that its scope is the whole site."""
    response = HttpResponse(_worker(), content_type="text/javascript; charset=utf-8")
    response.headers["Content-Security-Policy"] = "default-src 'none'; connect-src 'self'"
    return response


@require_safe
@cache_control(public=True, max_age=3600)
def manifest(request: HttpRequest, name: str) -> HttpResponse:
    """Make the page installable, which iOS requires for notifications."""
    newsletter = newsletter_or_404(name)
    icon = {"src": static("feedletter/favicon.svg"), "type": "image/svg+xml", "sizes": "any"}
    said = {
        "name": str(newsletter),
        "start_url": reverse("delivery:newsletter", args=[newsletter.name]),
        "scope": "/",
        "display": "standalone",
        "icons": [icon],
    }
    return JsonResponse(said, content_type="application/manifest+json")


def _consent() -> str:
    """Return the consent, word for word as on the page (templates/pages/_device.html)."""
    button = gettext("Notify me on this device")
    note = gettext(
        "Get a notification for each new issue, without giving an address. Your browser asks you first."
    )
    return f"{button}. {note}"


def _fields(request: HttpRequest, prefix: str = "") -> dict[str, str]:
    return {name: request.POST.get(f"{prefix}{name}", "") for name in FIELDS}


def _refused(sentence: str, status: int) -> JsonResponse:
    return JsonResponse({"error": sentence}, status=status)


@cache
def _worker() -> str:
    return WORKER.read_text()
