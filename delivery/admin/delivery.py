"""The pages of the ledger."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from common.admin import ReadOnlyAdmin
from common.admin_html import facts, link_to, moment_of, table, when
from common.clock import utcnow
from common.panels import Action, Panel
from common.text import counted
from delivery.admin.delivery_words import waits_for
from delivery.models import Delivery
from delivery.services.retrying import RETRYABLE, NotRetryable, retry_delivery

RETRIED_AT_ONCE = 1000
LABELS = {
    "queued": "info",
    "sending": "info",
    "sent": "success",
    "stored": "success",
    "deferred": "warning",
    "failed": "danger",
    "held": "danger",
    "cancelled": "warning",
}
SHOWN = 50


def about(delivery: Delivery) -> SafeString:
    rows: list[tuple[str, Any]] = [
        ("State", delivery.get_state_display().lower()),
        ("To", link_to(delivery.destination)),
        ("What", link_to(delivery.issue) if delivery.issue else delivery.get_kind_display()),
        ("Subscriber", link_to(delivery.subscription) if delivery.subscription else "–"),
        ("Queued", when(delivery.created_at)),
    ]
    if delivery.state in ("queued", "deferred"):
        rows.append(("Goes out from", when(delivery.due_at)))
    if waits := waits_for(delivery):
        rows.append(("What it waits for", waits))
    if delivery.sent_at:
        rows.append(("Sent", when(delivery.sent_at)))
    if delivery.remote_id:
        rows.append(("The server’s id for it", delivery.remote_id))
    if delivery.last_error:
        rows.append(("What was wrong last", delivery.last_error))
    return facts([*rows, ("Sent through", link_to(delivery.lane))])


def attempts(delivery: Delivery) -> SafeString:
    rows = delivery.attempt_rows.order_by("-at", "-pk")[:SHOWN]
    return table(
        ("when", "outcome", "status", "in the server’s words"),
        ((when(row.at), row.outcome, row.status, row.text) for row in rows),
        "No attempt has failed.",
    )


def retry(request: HttpRequest, keys: list[int]) -> str:
    queued = 0
    for delivery in Delivery.objects.filter(pk__in=keys[:RETRIED_AT_ONCE]).order_by("pk"):
        try:
            retry_delivery(delivery=delivery, now=utcnow())
            queued += 1
        except NotRetryable as error:
            messages.warning(request, str(error))
    left = len(keys) - RETRIED_AT_ONCE
    more = f" {left:,} were left alone: at most {RETRIED_AT_ONCE:,} at once." if left > 0 else ""
    return f"{counted(queued, 'delivery', 'deliveries')} queued again.{more}" if queued or more else ""


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = ("destination", "what", "shown_state", "sent", "last_error")
    list_filter = ("state", "held_for", "kind", "lane", "issue__subscribable")
    search_fields = ("destination__core", "domain", "remote_id")
    list_select_related = ("destination", "issue")
    own_panels = (Panel("How it stands", about, order=10), Panel("What did not work", attempts, order=20))
    own_actions = (Action("retry", "Try again now", retry, fits=lambda row: row.state in RETRYABLE),)
    list_per_page = 50
    sent = moment_of("sent_at", "sent")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Delivery]":
        every: QuerySet[Delivery] = super().get_queryset(request)
        return every.defer("issue__html", "issue__text")

    @display(description="what", ordering="issue")
    def what(self, delivery: Delivery) -> str:
        return str(delivery.issue or delivery.get_kind_display())

    @display(description="state", label=LABELS, ordering="state")
    def shown_state(self, delivery: Delivery) -> tuple[str, str]:
        return delivery.state, delivery.get_state_display()
