"""Admin log of webhook calls."""

import json
from typing import Any

from django.contrib import admin
from django.contrib.admin import AllValuesFieldListFilter, ChoicesFieldListFilter, RelatedFieldListFilter
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from common.admin.flows import asks
from common.admin.html import facts, link_to, moment_of, when
from common.admin.model_admin import ReadOnlyAdmin
from common.admin.page_words import EmptyList
from common.clock import utcnow
from common.ports.panels import Action, Panel
from common.text import pluralize
from delivery.admin.webhooks.webhook import WHAT, next_step, outcome, said
from delivery.models import WebhookCall
from delivery.webhooks.manage import retry_calls

CALL_COLOURS = {"queued": "info", "sending": "info", "sent": "success", "failed": "danger"}


def describe_call(call: WebhookCall) -> SafeString:
    rows: list[tuple[str, Any]] = [
        ("What happened", f"{WHAT.get(call.kind, call.kind)} ({call.kind})"),
        ("Webhook", link_to(call.webhook)),
        ("Id", call.event_id),
        ("State", call.get_state_display().lower()),
        ("Happened", when(call.created_at)),
        ("Tries", call.attempts),
        ("Last answer", f"HTTP {call.status}" if call.status else "None."),
    ]
    if call.error:
        rows.append(("Last error", call.error))
    if call.sent_at:
        rows.append(("Taken", when(call.sent_at)))
    if call.state == WebhookCall.State.QUEUED:
        rows += [("Next try", next_step(call)), ("Given up on", when(call.give_up_at))]
    return facts(rows)


def call_body(call: WebhookCall) -> SafeString:
    if not call.body:
        return format_html("<p>{}</p>", "It was forgotten, because the person it was about was erased.")
    return format_html(
        '<pre class="fl-copy">{}</pre>', json.dumps(json.loads(call.body), indent=2, ensure_ascii=False)
    )


def retry_chosen_calls(request: HttpRequest, keys: list[int]) -> str:
    count = retry_calls(keys=keys, now=utcnow())
    return f"{pluralize(count, 'call')} queued again, each under the id that it had."


@admin.register(WebhookCall)
class WebhookCallAdmin(ReadOnlyAdmin):
    list_display = ("kind", "webhook", "shown_state", "happened", "shown_outcome", "shown_answer")
    list_filter = (
        ("state", asks("Which state?", ChoicesFieldListFilter)),
        ("webhook", asks("By which webhook?", RelatedFieldListFilter)),
        ("kind", asks("What happened?", AllValuesFieldListFilter, WHAT)),
    )
    empty = EmptyList(
        "No webhook has been called",
        "A call is made when something happens that a webhook asks for. Its page can send a test.",
        "Go to the webhooks",
        "admin:delivery_webhook_changelist",
        "delivery.view_webhook",
    )
    search_fields = ("event_id", "destination__core")
    list_select_related = ("webhook",)
    list_per_page = 50
    own_panels = (Panel("Status", describe_call, order=10), Panel("What is sent", call_body, order=20))
    own_actions = (
        Action("retry", "Send again now", retry_chosen_calls, fits=lambda call: call.state != "sending"),
    )
    happened = moment_of("created_at", "happened")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[WebhookCall]":
        every: QuerySet[WebhookCall] = super().get_queryset(request)
        return every.defer("body")

    @display(description="state", label=CALL_COLOURS, ordering="state")
    def shown_state(self, call: WebhookCall) -> tuple[str, str]:
        return call.state, call.get_state_display()

    @display(description="status", ordering="due_at")
    def shown_outcome(self, call: WebhookCall) -> str:
        return outcome(call)

    @display(description="answer", ordering="status")
    def shown_answer(self, call: WebhookCall) -> str:
        return said(call)
