"""Where mail services tell what became of letters: /anymail/<service>/tracking/."""

import base64
import binascii
import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from anymail.exceptions import AnymailWebhookValidationFailure
from django.conf import settings
from django.core.exceptions import BadRequest, ImproperlyConfigured
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils.crypto import constant_time_compare
from django.views.decorators.csrf import csrf_exempt

from common.body_limits import takes_body
from delivery.bounces.esp_events import accounts_with
from delivery.channels.email.esp.services import ALIASES, SERVICES
from delivery.channels.email.esp.settings import EspSettings

log = logging.getLogger(__name__)

# Services tell of up to some thousand letters at once.
LARGEST = 2 * 1024 * 1024

# The argument of anymail's view with the key of the signature, for services that sign besides the password.
_SIGNED_WITH = {
    "mailersend": "signing_secret",
    "mailgun": "webhook_signing_key",
    "mandrill": "webhook_key",
    "postal": "webhook_key",
    "unisender_go": "api_key",
}


@takes_body(LARGEST)
@csrf_exempt
def esp_tracking(request: HttpRequest, esp: str) -> HttpResponseBase:
    """Hands what the service says to anymail's view for it, which sends the signal."""
    # Basic authentication (RFC 7617) with ANYMAIL_WEBHOOK_SECRET, which is name:password.
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    try:
        said = base64.b64decode(given, validate=True).decode()
    except (binascii.Error, ValueError):
        said = ""
    secret = settings.ANYMAIL_WEBHOOK_SECRET
    if scheme.lower() != "basic" or not secret or not constant_time_compare(said, secret):
        # Amazon SNS shows its password only when it is asked for one.
        return HttpResponse(status=401, headers={"WWW-Authenticate": 'Basic realm="Feedletter webhooks"'})
    name = esp.lower().replace("_", "-")
    service = SERVICES.get(ALIASES.get(name, name))
    if service is None:
        raise Http404
    return _answered(request, service.backend, list(accounts_with(ALIASES.get(name, name))))


def _answered(request: HttpRequest, backend: str, accounts: Sequence[EspSettings | None]) -> HttpResponseBase:
    """The view's answer, with the account whose signature fits. Raises Http404 where none is set."""
    try:
        module = import_module(f"anymail.webhooks.{backend}")
    except ImportError as error:
        raise Http404 from error  # a service without webhooks
    ends = ("TrackingWebhookView", "CombinedWebhookView")
    view_class: Any = next(made for name, made in vars(module).items() if name.endswith(ends))
    failure: AnymailWebhookValidationFailure | None = None
    for account in accounts or [None]:
        keys = {}
        if account is not None and backend in _SIGNED_WITH:
            own = account.options.get("webhook_key", "")
            # Mailgun's oldest accounts and Unisender Go sign with the API key.
            key = own or (account.key if backend in ("mailgun", "unisender_go") else "")
            keys = {_SIGNED_WITH[backend]: key} if key else {}
        try:
            view = view_class(**keys)
            view.setup(request)
            for reading in ("run_validators", "parse_events"):
                setattr(view, reading, _well_formed(getattr(view, reading)))
            answer: HttpResponseBase = view.dispatch(request)
            return answer
        except AnymailWebhookValidationFailure as error:
            failure = error
        except ImproperlyConfigured as error:
            log.warning("a webhook cannot be answered: %s", type(error).__name__, extra={"esp": backend})
            raise Http404 from error
    raise failure or Http404


def _well_formed(read: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Refuses a body that `read` cannot make sense of (400). With a 500 the service would try it again.

    All these errors are about the body: while anymail reads, its views take the body apart and trust its
    shape, and no code of ours runs.
    """

    def reading(request: HttpRequest) -> Any:
        try:
            return read(request)
        except ImproperlyConfigured:
            raise
        except (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError):
            raise BadRequest("The body is not what this service tells.") from None

    return reading
