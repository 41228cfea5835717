"""Webhooks: of mail services at /anymail/<service>/tracking/, of Twilio at /sms/<account>/…"""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import Any
from xml.sax.saxutils import escape

from anymail.exceptions import AnymailAPIError, AnymailImproperlyInstalled, AnymailWebhookValidationFailure
from anymail.webhooks.amazon_ses import AmazonSESTrackingWebhookView
from anymail.webhooks.base import AnymailBaseWebhookView
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseForbidden
from django.http.request import split_domain_port, validate_host
from django.utils.crypto import constant_time_compare
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from channels.email.esp.services import ALIASES, SERVICES, MailService
from channels.email.esp.settings import EspSettings
from channels.rules.sms_words import is_answered_by_twilio, wish_of
from channels.sms.message import is_signed
from common.body_limits import takes_body
from common.clock import utcnow
from common.net.client import client
from common.net.errors import FetchError
from delivery.accounts.accounts import note_refused_call, stored_values
from delivery.bounces.record import accounts_with
from delivery.bounces.sms_replies import heed, take_status
from delivery.models import ServiceAccount

CONFIRM_SECONDS = 10.0
_SUBSCRIBE_URL = re.compile(r"https://sns\.[a-z0-9-]{1,40}\.amazonaws\.com(?:\.cn)?/\?[\x21-\x7e]{1,2000}")
_NOTICE = ("eventType", "notificationType")
NUMBER = re.compile(r"\+[1-9]\d{6,14}", re.ASCII)
TwilioView = Callable[..., HttpResponse]
# Services report up to some thousand letters at once.
LARGEST = 2 * 1024 * 1024
# Parameter of anymail's view for the signature key, if the service signs besides the password.
_SIGNED_WITH = {
    "mailersend": "signing_secret",
    "mailgun": "webhook_signing_key",
    "mandrill": "webhook_key",
    "postal": "webhook_key",
    "unisender_go": "api_key",
}
_UNSIGNED = "Its signature does not fit. Set webhook_key to the key that the service signs with."


class SesTrackingView(AmazonSESTrackingWebhookView):  # type: ignore[misc, unused-ignore]
    """anymail's view with raw SNS delivery, and without boto3, which only sending needs."""

    auto_confirm_enabled = True

    def __init__(self, **kwargs: Any) -> None:
        AnymailBaseWebhookView.__init__(self, **kwargs)

    @staticmethod
    def _parse_sns_message(request: HttpRequest) -> Any:
        message = AmazonSESTrackingWebhookView._parse_sns_message(request)
        if not isinstance(message, dict):
            raise AnymailAPIError("The body is no message of SNS.")
        if "Type" not in message and any(name in message for name in _NOTICE):
            # Raw delivery: SES's object without the envelope, whose fields are headers.
            identity = hashlib.sha256(request.body).hexdigest()
            message = {
                "Type": request.META.setdefault("HTTP_X_AMZ_SNS_MESSAGE_TYPE", "Notification"),
                "MessageId": request.META.setdefault("HTTP_X_AMZ_SNS_MESSAGE_ID", identity),
                "Message": json.dumps(message),
            }
            request._sns_message = message  # type: ignore[attr-defined]
        return message

    def auto_confirm_sns_subscription(self, sns_message: dict[str, Any]) -> None:
        """Confirm the subscription. Raises FetchError."""
        url = str(sns_message.get("SubscribeURL", ""))
        if not _SUBSCRIBE_URL.fullmatch(url):
            raise FetchError("the address to confirm the subscription is none of Amazon SNS")
        status = client().get(url, timeout=CONFIRM_SECONDS).status
        if status >= 300:
            raise FetchError(f"Amazon SNS answered {status} to the confirmation")


@takes_body(LARGEST)
@csrf_exempt
def esp_tracking(request: HttpRequest, esp: str) -> HttpResponseBase:
    """Pass the call to anymail's view for the service, which sends the signal."""
    # Basic authentication (RFC 7617) with ANYMAIL_WEBHOOK_SECRET, which is name:password.
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    try:
        said = base64.b64decode(given, validate=True).decode()
    except (binascii.Error, ValueError):
        said = ""
    secret = settings.ANYMAIL_WEBHOOK_SECRET
    if scheme.lower() != "basic" or not secret or not constant_time_compare(said, secret):
        # Amazon SNS sends its password only when asked.
        return HttpResponse(status=401, headers={"WWW-Authenticate": 'Basic realm="Feedletter webhooks"'})
    name = esp.lower().replace("_", "-")
    name = ALIASES.get(name, name)
    if name not in SERVICES:
        note_refused_call(esp=name[:40], reason="Its address names no mail service.", now=utcnow())
        raise Http404
    try:
        return _answered(request, SERVICES[name], list(accounts_with(name)))
    except _Refused as refused:
        note_refused_call(esp=name, reason=refused.reason, now=utcnow())
        return HttpResponse(refused.reason, status=refused.status, content_type="text/plain")


class _Refused(Exception):
    """Authenticated call that is refused, with status and reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


def _answered(
    request: HttpRequest, service: MailService, accounts: Sequence[EspSettings | None]
) -> HttpResponseBase:
    """Return the view's response, for the account whose signature matches. Raises _Refused."""
    view_class = _view_class(service)
    signed_with = _SIGNED_WITH.get(service.backend, "")
    refused = _Refused(404, f"{service.name} signs its calls, and no account here has its key.")
    for account in accounts or [None]:
        keys = {}
        if account is not None and signed_with:
            own = account.options.get("webhook_key", "")
            # Mailgun's oldest accounts and Unisender Go sign with the API key.
            key = own or (account.key if service.backend in ("mailgun", "unisender_go") else "")
            keys = {signed_with: key} if key else {}
        try:
            view = view_class(**keys)
        except ImproperlyConfigured:
            continue
        view.setup(request)
        for reading in ("run_validators", "parse_events"):
            setattr(view, reading, _well_formed(getattr(view, reading), service))
        try:
            answer: HttpResponseBase = view.dispatch(request)
            return answer
        except AnymailWebhookValidationFailure:
            refused = _Refused(400, _UNSIGNED if signed_with else "Its headers don’t match the service.")
    raise refused


def _view_class(service: MailService) -> Any:
    if service.backend == "amazon_ses":
        return SesTrackingView
    try:
        module = import_module(f"anymail.webhooks.{service.backend}")
    except ImportError:
        raise _Refused(404, f"Webhooks of {service.name} are not understood here.") from None
    ends = ("TrackingWebhookView", "CombinedWebhookView")
    return next(made for name, made in vars(module).items() if name.endswith(ends))


def _well_formed(read: Callable[[HttpRequest], Any], service: MailService) -> Callable[[HttpRequest], Any]:
    """Refuse a malformed body with 400. The service would retry after a 500.

    All these errors concern the body: anymail's views trust its shape, and the only code of ours that runs is
    the confirmation of a subscription (FetchError, 502).
    """

    def reading(request: HttpRequest) -> Any:
        try:
            return read(request)
        except FetchError as error:
            raise _Refused(502, f"The subscription could not be confirmed: {error}.") from None
        except ImproperlyConfigured as error:
            if isinstance(error, AnymailImproperlyInstalled):
                raise _Refused(503, f"A package is missing: {error}") from None
            raise _Refused(
                404, "It is about incoming mail. This address takes events of sent mail."
            ) from None
        except AnymailWebhookValidationFailure:
            raise
        except AnymailAPIError:
            raise _Refused(400, f"Its body holds no event of {service.name}.") from None
        except (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError):
            raise _Refused(400, f"Its body cannot be read as an event of {service.name}.") from None

    return reading


def by_twilio(view: TwilioView) -> TwilioView:
    """Require the signature of the account's token for the URL that Twilio knows."""

    @wraps(view)
    def wrapped(request: HttpRequest, account: str, **more: int) -> HttpResponse:
        found = ServiceAccount.objects.filter(kind="sms", name=account).first()
        token = stored_values(found).get("auth_token", "") if found else ""
        url = f"{requested_site(request)}{request.get_full_path()}"
        given = request.headers.get("X-Twilio-Signature", "")
        if not is_signed(token, url, dict(request.POST.lists()), given):
            return HttpResponseForbidden("This is not signed by the account.")
        return view(request, account, **more)

    return csrf_exempt(require_POST(wrapped))


def requested_site(request: HttpRequest) -> str:
    """Return SITE_URL, or a former address if the request used it."""
    host, _ = split_domain_port(request.get_host())
    is_former = validate_host(host, settings.FORMER_HOSTS)
    return f"{request.scheme}://{request.get_host()}" if is_former else str(settings.SITE_URL)


@by_twilio
def sms_inbound(request: HttpRequest, account: str) -> HttpResponse:
    """Act on STOP, START and HELP; ignore all other messages."""
    number, body = request.POST.get("From", ""), request.POST.get("Body", "")
    opt_out_type = request.POST.get("OptOutType", "")
    wish, said = wish_of(body, opt_out_type), ""
    if wish is not None and NUMBER.fullmatch(number):
        said = heed(wish, account=account, number=number, now=utcnow())
        said = "" if is_answered_by_twilio(body, opt_out_type) else said
    message = f"<Message>{escape(said)}</Message>" if said else ""
    xml = f'<?xml version="1.0" encoding="UTF-8"?><Response>{message}</Response>'
    return HttpResponse(xml, content_type="text/xml")


@by_twilio
def sms_status(request: HttpRequest, account: str, pk: int) -> HttpResponse:
    """Record the status of a delivery's message."""
    take_status(
        account=account,
        delivery_id=pk,
        sid=request.POST.get("MessageSid", ""),
        status=request.POST.get("MessageStatus", ""),
        code=request.POST.get("ErrorCode", ""),
        now=utcnow(),
    )
    return HttpResponse(status=204)
