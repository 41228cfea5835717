"""Twilio's webhooks for replies and message status: /sms/<account>/…"""

import re
from collections.abc import Callable
from functools import wraps
from xml.sax.saxutils import escape

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.http.request import split_domain_port, validate_host
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from channels.rules.sms_words import is_answered_by_twilio, wish_of
from channels.sms.service import is_signed
from common.clock import utcnow
from delivery.accounts.accounts import stored_values
from delivery.bounces.sms_replies import heed, take_status
from delivery.models import ServiceAccount

NUMBER = re.compile(r"\+[1-9]\d{6,14}", re.ASCII)
TwilioView = Callable[..., HttpResponse]


def by_twilio(view: TwilioView) -> TwilioView:
    """Require the signature of the account's token for the URL that Twilio knows."""

    @wraps(view)
    def wrapped(request: HttpRequest, account: str, **more: int) -> HttpResponse:
        found = ServiceAccount.objects.filter(kind="sms", name=account).first()
        token = stored_values(found).get("auth_token", "") if found else ""
        url = f"{site_of(request)}{request.get_full_path()}"
        given = request.headers.get("X-Twilio-Signature", "")
        if not is_signed(token, url, dict(request.POST.lists()), given):
            return HttpResponseForbidden("This is not signed by the account.")
        return view(request, account, **more)

    return csrf_exempt(require_POST(wrapped))


def site_of(request: HttpRequest) -> str:
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
