"""Which other sites' scripts may read an answer (https://fetch.spec.whatwg.org/#http-cors-protocol)."""

from django.http import HttpResponseBase
from django.utils.cache import patch_vary_headers

from subscriptions.models import Subscribable
from subscriptions.rules.embed_hosts import allowed

KEPT_SECONDS = 600


def may_read(subscribable: Subscribable | None, origin: str) -> bool:
    """Whether that origin is one of the newsletter's sites."""
    if subscribable is None:
        return False
    address = allowed(subscribable.embed_hosts, origin)
    return address is not None and address.origin == origin


def add_cors(response: HttpResponseBase, *, origin: str, may: bool) -> None:
    """Adds the headers, never with credentials: a sign-up needs no cookie. Caches keep origins apart."""
    patch_vary_headers(response, ["Origin"])
    if not may:
        return
    response["Access-Control-Allow-Origin"] = origin
    response["Access-Control-Allow-Methods"] = "POST, OPTIONS"
    response["Access-Control-Allow-Headers"] = "Content-Type"
    response["Access-Control-Max-Age"] = str(KEPT_SECONDS)
