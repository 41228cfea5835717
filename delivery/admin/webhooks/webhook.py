"""Admin pages of webhooks and their calls."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import (
    AllValuesFieldListFilter,
    BooleanFieldListFilter,
    ChoicesFieldListFilter,
    RelatedFieldListFilter,
)
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminSelect2MultipleWidget, UnfoldAdminTextInputWidget

from common.admin.html import column, list_link, moment_of, when
from common.admin.lists import asks
from common.admin.model_admin import ReadOnlyAdmin, ServiceAdmin, StyledForm
from common.admin.page_words import EmptyList
from common.admin.resources import actions_of
from common.clock import utcnow
from common.parts import Code, Facts, Link, Part, Table
from common.ports.events import EventKind
from common.ports.panels import Panel
from common.text import pluralize, shortened
from delivery.models import Webhook, WebhookCall
from delivery.resources.webhooks import KEEP_IT, webhook_calls, webhooks
from delivery.webhooks.calls import TEST
from delivery.webhooks.outbox import EVENT_WORDS, add_webhook, alter_webhook
from subscriptions.models import Subscribable

WHAT: Mapping[str, str] = MappingProxyType({**EVENT_WORDS, TEST: "A test"})
ANSWER_SHOWN = 80
CALL_COLOURS = {"queued": "info", "sending": "info", "sent": "success", "failed": "danger"}
CALLS_SHOWN = 10
WEBHOOK_COLOURS = {"active": "success", "failing": "danger", "off": "danger", "paused": "warning"}
EVENTS = tuple((kind.value, WHAT[kind]) for kind in EventKind)


def webhook_state(webhook: Webhook) -> tuple[str, str]:
    if webhook.disabled_at:
        return "off", "switched off"
    if not webhook.active:
        return "paused", "paused"
    return ("failing", "failing") if webhook.failures else ("active", "active")


def explained(webhook: Webhook) -> str:
    if webhook.disabled_at:
        return (
            f"Switched off on {when(webhook.disabled_at)}, because its address said that it is gone"
            f" ({webhook.disabled_reason}). Give another address, then resume it."
        )
    if not webhook.active:
        return "Paused: nothing is sent, and no new calls are recorded. Calls that wait are kept."
    if webhook.failures:
        return (
            f"It has refused every call since {when(webhook.failing_since)}; the next try is at"
            f" {when(webhook.free_at)}. Its answers are listed below."
        )
    return "It is called when something happens."


def outcome(call: WebhookCall) -> str:
    tries = pluralize(call.attempts, "try", "tries")
    match call.state:
        case WebhookCall.State.QUEUED:
            return f"waits after {tries}; next {next_step(call)}" if call.attempts else "waits"
        case WebhookCall.State.SENDING:
            return "is being sent"
        case WebhookCall.State.SENT:
            return "taken" if call.attempts < 2 else f"taken after {tries}"
    return f"given up after {tries}"


def said(call: WebhookCall) -> str:
    return shortened(call.error, ANSWER_SHOWN) or (f"HTTP {call.status}" if call.status else "–")


def next_step(call: WebhookCall) -> str:
    """Return when the call is retried, if ever."""
    if call.state != WebhookCall.State.QUEUED:
        return "–"
    if not call.webhook.active:
        return "when the webhook is resumed"
    return when(max(call.due_at, call.webhook.free_at or call.due_at))


def describe_webhook(webhook: Webhook) -> Part:
    waiting = webhook.calls.filter(state=WebhookCall.State.QUEUED).count()
    is_safe = webhook.url.startswith("https:")
    return Facts(
        ("State", explained(webhook)),
        ("Waiting", pluralize(waiting, "call")),
        ("Added", when(webhook.created_at)),
        ("Secret changed", when(webhook.rotated_at, "")),
        ("Not encrypted", "" if is_safe else "Others on the network can read addresses of subscribers."),
    )


def told_of(webhook: Webhook) -> str:
    return "everything" if len(webhook.events) == len(EventKind) else ", ".join(webhook.events)


def last_calls(webhook: Webhook) -> Part:
    rows = webhook.calls.select_related("webhook").defer("body")[:CALLS_SHOWN]
    table = Table(
        ("event", "when", "status", "answer"),
        (
            (Link(row, WHAT.get(row.kind, row.kind)), when(row.created_at), outcome(row), said(row))
            for row in rows
        ),
        "It has not been called yet. Send a test.",
    )
    every = list_link(WebhookCall, "All of its calls", webhook__id__exact=webhook.pk)
    return (table, every if rows else "")


class WebhookForm(StyledForm, forms.ModelForm):  # type: ignore[type-arg]
    """The service validates again and generates the secret."""

    url = forms.CharField(
        label="Address",
        max_length=2000,
        widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "https://…"}),
        help_text="Such as https://crm.example/hooks/feedletter.",
    )
    events = forms.MultipleChoiceField(
        label="Call it when", choices=EVENTS, initial=[kind.value for kind in EventKind]
    )
    newsletters = forms.ModelMultipleChoiceField(
        Subscribable.objects.order_by("name"),
        label="Only for these newsletters",
        required=False,
        widget=UnfoldAdminSelect2MultipleWidget(),
        help_text="If empty, all newsletters and feeds. Else only these newsletters and their feeds.",
    )

    class Meta:
        model = Webhook
        fields = ("name", "url", "events", "newsletters")


@admin.register(Webhook)
class WebhookAdmin(ServiceAdmin):
    form = WebhookForm
    list_display = ("name", "shown_url", "shown_state", "told_of", "added")
    list_filter = (("active", asks("Which are called?", BooleanFieldListFilter)),)
    empty = EmptyList(
        "No webhooks so far",
        "A webhook calls another program of yours when somebody subscribes or leaves, when an email bounces"
        " or when an issue is published.",
        "Add a webhook",
        "admin:delivery_webhook_add",
    )
    search_fields = ("name", "url")
    deferred = ("secrets",)
    shown_after_adding = True
    own_panels = (Panel("Status", describe_webhook, order=10), Panel("Last calls", last_calls, order=60))
    own_actions = actions_of(webhooks)
    added = moment_of("created_at", "added")
    shown_url = column("address", lambda webhook: shortened(webhook.url, 64), ordering="url")
    shown_state = column("state", webhook_state, label=WEBHOOK_COLOURS)
    told_of = column("told of", told_of)

    def get_fieldsets(self, request: HttpRequest, obj: Webhook | None = None) -> Any:
        return ((None, {"fields": ("name", "url", "events", "newsletters")}),)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """Return the form's own fields, without Django's add and change buttons."""
        return (
            db_field.formfield(**kwargs)
            if db_field.many_to_many
            else super().formfield_for_dbfield(db_field, request, **kwargs)
        )

    def save_model(self, request: HttpRequest, obj: Webhook, form: Any, change: bool) -> None:
        if change:
            alter_webhook(webhook=obj, **form.cleaned_data)
            return
        made, secret = add_webhook(**form.cleaned_data, now=utcnow())
        obj.pk = made.pk
        obj.refresh_from_db()
        messages.warning(request, f"The secret of {obj} is {secret}. {KEEP_IT}")


def describe_call(call: WebhookCall) -> Part:
    is_waiting = call.state == WebhookCall.State.QUEUED
    return Facts(
        ("What happened", f"{WHAT.get(call.kind, call.kind)} ({call.kind})"),
        ("Webhook", Link(call.webhook)),
        ("Id", call.event_id),
        ("State", call.get_state_display().lower()),
        ("Happened", when(call.created_at)),
        ("Tries", call.attempts),
        ("Last answer", f"HTTP {call.status}" if call.status else "None."),
        ("Last error", call.error),
        ("Taken", when(call.sent_at, "")),
        ("Next try", next_step(call) if is_waiting else ""),
        ("Given up on", when(call.give_up_at) if is_waiting else ""),
    )


def call_body(call: WebhookCall) -> Part:
    if not call.body:
        return "It was forgotten, because the person it was about was erased."
    return Code(json.dumps(json.loads(call.body), indent=2, ensure_ascii=False), is_copied=True)


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
    )
    search_fields = ("event_id", "destination__core")
    deferred = ("body",)
    list_select_related = ("webhook",)
    list_per_page = 50
    own_panels = (Panel("Status", describe_call, order=10), Panel("What is sent", call_body, order=20))
    own_actions = actions_of(webhook_calls)
    happened = moment_of("created_at", "happened")
    shown_outcome = column("status", outcome, ordering="due_at")
    shown_answer = column("answer", said, ordering="status")
    shown_state = column(
        "state", lambda row: (row.state, row.get_state_display()), label=CALL_COLOURS, ordering="state"
    )
