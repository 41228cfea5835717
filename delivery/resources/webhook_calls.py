"""Calls of webhooks: what can be done with them in the admin."""

from datetime import datetime

from django.db.models import QuerySet

from common.ports.panels import CannotAct
from common.resources import ADMIN, Resource, verb
from delivery.models import WebhookCall
from delivery.webhooks.outbox import retry_calls


class WebhookCalls(Resource[WebhookCall]):
    noun = "call"

    def rows(self) -> "QuerySet[WebhookCall]":
        return WebhookCall.objects.defer("body")

    @verb("Send again now", on=(ADMIN,), fits=lambda call: call.state != "sending")
    def retry(self, call: WebhookCall, *, now: datetime) -> str:
        if not retry_calls(keys=[call.pk], now=now):
            raise CannotAct("It is being sent.")
        return "Queued again, under the id that it had."


webhook_calls = WebhookCalls()
