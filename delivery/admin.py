"""Issues, the ledger and lanes in the admin."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.decorators import action, display

from common.admin import ReadOnlyAdmin, ServiceAdmin, list_link, table
from common.clock import utcnow
from delivery.models import Attempt, Delivery, Issue, Lane
from delivery.services.retrying import NotRetryable, retry_delivery

STATES = {
    "queued": "info",
    "sending": "info",
    "sent": "success",
    "kept in the mailbox": "success",
    "deferred": "warning",
    "failed": "danger",
    "held": "danger",
    "cancelled": "warning",
}


@admin.register(Issue)
class IssueAdmin(ReadOnlyAdmin):
    list_display = ("title", "subscribable", "created_at", "published_at", "posts", "reached")
    list_filter = ("subscribable",)
    search_fields = ("title", "subject")
    list_select_related = ("subscribable",)
    fields = (
        "title",
        "subscribable",
        "subject",
        "created_at",
        "published_at",
        "progress",
        "problems",
        "preview",
    )
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Issue]":
        return super().get_queryset(request).annotate(post_count=Count("issue_items"))

    @display(description="posts", ordering="post_count")
    def posts(self, issue: Any) -> int:
        return int(issue.post_count)

    @display(description="how many got it")
    def reached(self, issue: Issue) -> str:
        counts = issue.deliveries.all().counts()
        arrived = counts.get("sent", 0) + counts.get("stored", 0)
        return f"{arrived} of {sum(counts.values())}"

    @display(description="deliveries")
    def progress(self, issue: Issue) -> str:
        counts = issue.deliveries.all().counts()
        rows = [
            (list_link(Delivery, label, issue__id__exact=issue.pk, state__exact=state), counts[state])
            for state, label in Delivery.State.choices
            if state in counts
        ]
        return table(("state", "how many"), rows, "Nobody was subscribed when it was published.")

    @display(description="who did not get it")
    def problems(self, issue: Issue) -> str:
        rows = issue.deliveries.filter(state__in=("deferred", "failed", "held", "cancelled"))
        return table(
            ("to", "state", "in the server's words"),
            (
                (row.destination, row.get_state_display(), row.last_error)
                for row in rows.select_related("destination")[:50]
            ),
            "Everybody got it, or is about to.",
        )

    @display(description="as it went out")
    def preview(self, issue: Issue) -> str:
        return format_html(
            '<iframe sandbox srcdoc="{}" style="width:100%;height:70vh;border:1px solid #8884"></iframe>',
            issue.html,
        )


class AttemptInline(admin.TabularInline):  # type: ignore[type-arg]
    model = Attempt
    fields = readonly_fields = ("at", "outcome", "text")
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = (
        "pk",
        "kind",
        "destination",
        "issue",
        "shown_state",
        "attempts",
        "due_at",
        "sent_at",
        "last_error",
    )
    list_filter = ("state", "kind", "lane", "domain")
    search_fields = ("destination__core", "remote_id")
    list_select_related = ("destination", "issue", "lane")
    actions = ("retry",)
    inlines = (AttemptInline,)
    fields = (
        "kind",
        "destination",
        "issue",
        "subscription",
        "shown_state",
        "attempts",
        "created_at",
        "due_at",
        "sent_at",
        "remote_id",
        "last_error",
        "lane",
    )

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.fields, *super().get_readonly_fields(request, obj))

    @display(description="state", label=STATES)
    def shown_state(self, delivery: Delivery) -> str:
        return delivery.get_state_display()

    @action(description="Try again now")
    def retry(self, request: HttpRequest, queryset: "QuerySet[Delivery]") -> None:
        queued = 0
        for delivery in queryset[:1000]:
            try:
                retry_delivery(delivery=delivery, now=utcnow())
                queued += 1
            except NotRetryable as error:
                messages.warning(request, str(error))
        messages.success(request, f"{queued} deliveries are queued again.")


@admin.register(Lane)
class LaneAdmin(ServiceAdmin):
    list_display = ("__str__", "waiting", "paused", "rate", "concurrency", "free_at", "last_error")
    list_filter = ("kind", "paused")
    fields = (
        "shown",
        ("paused", "paused_reason"),
        ("concurrency", "spacing_seconds"),
        ("rate", "burst"),
        "last_error",
    )
    readonly_fields = ("shown", "last_error")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @display(description="account")
    def shown(self, lane: Lane) -> str:
        return str(lane)

    @display(description="waiting")
    def waiting(self, lane: Lane) -> int:
        return lane.deliveries.waiting().count()
