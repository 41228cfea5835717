"""Webhook of Amazon SES, by Amazon SNS."""

import hashlib
import json
import re
from typing import Any

from anymail.exceptions import AnymailAPIError
from anymail.webhooks.amazon_ses import AmazonSESTrackingWebhookView
from anymail.webhooks.base import AnymailBaseWebhookView
from django.http import HttpRequest

from common.net.client import client
from common.net.errors import FetchError

CONFIRM_SECONDS = 10.0
_SUBSCRIBE_URL = re.compile(r"https://sns\.[a-z0-9-]{1,40}\.amazonaws\.com(?:\.cn)?/\?[\x21-\x7e]{1,2000}")
_NOTICE = ("eventType", "notificationType")


class SesTrackingView(AmazonSESTrackingWebhookView):  # type: ignore[misc, unused-ignore]
    """anymail's view, also for SNS's raw delivery, and without boto3, which only sending needs."""

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
