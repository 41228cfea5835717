"""Newsletters, collections and subscribers in the admin."""

from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import admin, messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.decorators import action, display

from common.admin import ReadOnlyAdmin, ServiceAdmin, link_to, list_link, report, table
from common.clock import utcnow
from subscriptions.admin_words import waits_for
from subscriptions.forms_admin import SubscribableForm, SubscriberForm, destination_fields
from subscriptions.models import Assignable, Destination, Subscribable, Subscription, Suppression
from subscriptions.rules.periods import next_ends
from subscriptions.rules.words import describe, moment_words
from subscriptions.services.dropping import drop_subscribable
from subscriptions.services.schedules import schedule_of
from subscriptions.services.subscribing import subscribe, unsubscribe

SCHEDULE = ("at", "weekday", "day_of_month", "cron", "n", "max_wait_days", "time_zone", "grace_minutes")


@admin.register(Subscribable)
class SubscribableAdmin(ServiceAdmin):
    form = SubscribableForm
    list_display = ("name", "title", "channel", "rhythm", "subscribers", "page")
    list_filter = ("channel", "arrangement", "visibility")
    search_fields = ("name", "title")
    filter_horizontal = ("feeds",)
    readonly_fields = ("rhythm", "next_times", "collections")
    # Only the settings that the chosen arrangement uses are shown (unfold, Alpine expressions).
    conditional_fields = {  # noqa: RUF012
        "at": "['daily', 'weekly', 'monthly'].includes(arrangement)",
        "weekday": "arrangement == 'weekly'",
        "day_of_month": "arrangement == 'monthly'",
        "cron": "arrangement == 'cron'",
        "n": "arrangement == 'every_n'",
        "max_wait_days": "arrangement == 'every_n'",
        "grace_minutes": "['daily', 'weekly', 'monthly', 'cron'].includes(arrangement)",
    }

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        now = (
            (("What is being collected", {"fields": ("rhythm", "next_times", "collections")}),) if obj else ()
        )
        own = (
            (None, {"fields": (("name", "title"), "description", "feeds", "channel")}),
            ("How should readers get it?", {"fields": ("arrangement", *SCHEDULE)}),
            *now,
            ("Who may see it and sign up", {"fields": (("visibility", "sign_up"), "stopped")}),
            (
                "How it looks",
                {
                    "fields": (("from_email", "reply_to"), ("template", "language"), "options", "params"),
                    "classes": ("collapse",),
                },
            ),
        )
        return (*own, *super().get_fieldsets(request, obj)[1:]) if obj and self._shown(obj) else own

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Subscribable]":
        confirmed = Count("subscriptions", filter=Q(subscriptions__status="confirmed"))
        return super().get_queryset(request).annotate(subscriber_count=confirmed)

    @display(description="rhythm")
    def rhythm(self, subscribable: Subscribable) -> str:
        return describe(schedule_of(subscribable), subscribable.n, ZoneInfo(subscribable.time_zone))

    @display(description="next times")
    def next_times(self, subscribable: Subscribable) -> str:
        schedule = schedule_of(subscribable)
        if not schedule.has_periods:
            return "-"
        zone = ZoneInfo(subscribable.time_zone)
        ends = next_ends(schedule, zone, utcnow(), count=5)
        return table(
            ("if there is anything new, a letter goes out",), ((moment_words(end, zone),) for end in ends)
        )

    @display(description="collections")
    def collections(self, subscribable: Subscribable) -> str:
        rows = subscribable.assignables.annotate(held=Count("assignments"))[:20]
        return table(
            ("collection", "posts", "when it goes out"),
            ((link_to(row, row.within_type_id), row.held, waits_for(row)) for row in rows),
            "Nothing is waiting at the moment.",
        )

    @display(description="subscribers", ordering="subscriber_count")
    def subscribers(self, subscribable: Any) -> str:
        return list_link(
            Subscription, str(subscribable.subscriber_count), subscribable__id__exact=subscribable.pk
        )

    @display(description="page")
    def page(self, subscribable: Subscribable) -> str:
        if subscribable.visibility == Subscribable.Visibility.PRIVATE:
            return "private"
        return format_html('<a class="text-primary-600" href="/s/{0}/">/s/{0}/</a>', subscribable.name)

    def delete_model(self, request: HttpRequest, obj: Subscribable) -> None:
        report(request, lambda: drop_subscribable(subscribable=obj, force=True, now=utcnow()))

    def delete_queryset(self, request: HttpRequest, queryset: "QuerySet[Subscribable]") -> None:
        for subscribable in queryset:
            self.delete_model(request, subscribable)


@admin.register(Assignable)
class AssignableAdmin(ReadOnlyAdmin):
    list_display = ("subscribable", "within_type_id", "posts", "period_end", "waits")
    list_filter = ("subscribable",)
    list_select_related = ("subscribable",)
    fields = ("subscribable", "within_type_id", "opened_at", "period_start", "period_end", "waits", "held")
    actions = ("try_now",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields

    @display(description="posts")
    def posts(self, assignable: Assignable) -> int:
        return assignable.assignments.count()

    @display(description="when it goes out")
    def waits(self, assignable: Assignable) -> str:
        return waits_for(assignable)

    @display(description="posts")
    def held(self, assignable: Assignable) -> str:
        return table(
            ("post", "since"),
            ((link_to(row.item), row.assigned_at) for row in assignable.assignments.select_related("item")),
        )

    @action(description="Try now (after a failure)")
    def try_now(self, request: HttpRequest, queryset: "QuerySet[Assignable]") -> None:
        count = queryset.filter(seal_token=None).update(next_try_at=utcnow())
        messages.success(
            request, f"{count} collections are tried again within moments, if they are complete."
        )


@admin.register(Subscription)
class SubscriptionAdmin(ServiceAdmin):
    list_display = ("destination", "display_name", "subscribable", "shown_status", "added_at", "confirmed_at")
    list_filter = ("status", "subscribable")
    search_fields = ("destination__core", "display_name")
    list_select_related = ("destination", "subscribable")
    actions = ("end",)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        if obj is None:
            return SubscriberForm
        return super().get_form(request, obj, change=change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return ((None, {"fields": ("subscribable", *destination_fields(), "confirmed")}),)
        own = (
            (
                None,
                {
                    "fields": (
                        "destination",
                        "subscribable",
                        "display_name",
                        "language",
                        "status",
                        "added_at",
                        "confirmed_at",
                        "left_at",
                    )
                },
            ),
        )
        return (*own, *super().get_fieldsets(request, obj)[1:])

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return ()
        fixed = ("destination", "subscribable", "status", "added_at", "confirmed_at", "left_at")
        return (*fixed, *super().get_readonly_fields(request, obj))

    def save_model(self, request: HttpRequest, obj: Subscription, form: Any, change: bool) -> None:
        if change:
            Subscription.objects.filter(pk=obj.pk).update(
                display_name=obj.display_name, language=obj.language
            )
            return
        data = form.cleaned_data
        made = subscribe(
            subscribable=data["subscribable"],
            data=form.destination_data(data),
            now=utcnow(),
            confirmed=data["confirmed"],
        )
        obj.pk = made.pk
        obj.destination = made.destination

    @display(
        description="status", label={"confirmed": "success", "not confirmed yet": "warning", "left": "danger"}
    )
    def shown_status(self, subscription: Subscription) -> str:
        return subscription.get_status_display()

    @action(description="Unsubscribe")
    def end(self, request: HttpRequest, queryset: "QuerySet[Subscription]") -> None:
        rows = list(queryset.exclude(status="unsubscribed"))
        for subscription in rows:
            unsubscribe(subscription=subscription, now=utcnow())
        messages.success(request, f"{len(rows)} subscribers were unsubscribed.")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Destination)
class DestinationAdmin(ReadOnlyAdmin):
    list_display = ("label", "kind", "added_at", "disabled_at")
    list_filter = ("kind",)
    search_fields = ("core", "label")
    fields = ("kind", "core", "label", "added_at", "disabled_at", "disabled_reason", "wants")
    readonly_fields = ("wants",)
    actions = ("enable",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_staff)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.fields, *super().get_readonly_fields(request, obj))

    @display(description="subscriptions")
    def wants(self, destination: Destination) -> str:
        rows = destination.subscriptions.select_related("subscribable")
        return table(
            ("newsletter", "status", "since"),
            ((link_to(row, str(row.subscribable)), row.get_status_display(), row.added_at) for row in rows),
        )

    @action(description="Enable again")
    def enable(self, request: HttpRequest, queryset: "QuerySet[Destination]") -> None:
        count = queryset.update(disabled_at=None, disabled_reason="")
        messages.success(request, f"{count} destinations may be written to again.")


@admin.register(Suppression)
class SuppressionAdmin(ServiceAdmin):
    list_display = ("core", "kind", "reason", "created_at")
    search_fields = ("core", "reason")
    list_filter = ("kind",)
