"""Feeds and their items in the admin."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.decorators import action, display

from common.admin import ReadOnlyAdmin, ServiceAdmin, ago, list_link, report, table
from common.clock import utcnow
from feeds.models import Feed, Item
from feeds.rules.standing import Standing, explain
from feeds.services.adding import add_feed
from feeds.services.editing import EDITABLE, alter_feed
from feeds.services.including import include_item
from feeds.services.polling import PollResult, poll_feed, request_poll
from feeds.services.storing import timing_of

TIMING = ("min_delay_minutes", "await_stabilization_minutes", "max_delay_minutes", "recheck_every_minutes")
POLLED_AT_ONCE = 5


class FeedForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Feed
        fields = ("url", "start", "start_count", "title", "status", *TIMING)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("start") == Feed.Start.LAST and not data.get("start_count"):
            self.add_error("start_count", "Say how many posts, 1 or more.")
        if (data.get("max_delay_minutes") or 0) < (data.get("min_delay_minutes") or 0):
            self.add_error("max_delay_minutes", "The longest delay must not be shorter than the shortest.")
        return data


@admin.register(Feed)
class FeedAdmin(ServiceAdmin):
    form = FeedForm
    list_display = ("shown_title", "shown_health", "posts", "waiting", "last_polled_at", "next_poll_at")
    list_filter = ("status",)
    search_fields = ("title", "url")
    actions = ("poll_now", "pause", "resume")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Feed]":
        return (
            super()
            .get_queryset(request)
            .annotate(
                item_count=Count("items"), waiting_count=Count("items", filter=Q(items__state="unassigned"))
            )
        )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return (
                (None, {"fields": ("url", ("start", "start_count"))}),
                ("When a post counts as settled", {"fields": TIMING, "classes": ("collapse",)}),
            )
        own = (
            (None, {"fields": ("url", "title", "status")}),
            ("How it goes", {"fields": ("how_it_goes", "counts", "recent")}),
            ("When a post counts as settled", {"fields": TIMING, "classes": ("collapse",)}),
        )
        return (*own, *super().get_fieldsets(request, obj)[1:]) if self._shown(obj) else own

    readonly_fields = ("how_it_goes", "counts", "recent")

    def save_model(self, request: HttpRequest, obj: Feed, form: Any, change: bool) -> None:
        if change:
            changed = {name: form.cleaned_data[name] for name in form.changed_data if name in EDITABLE}
            alter_feed(feed=obj, **changed)
            return
        given = {name: form.cleaned_data[name] for name in ("url", "start", "start_count", *TIMING)}
        feed = add_feed(now=utcnow(), **given)
        obj.pk = feed.pk
        tell(request, poll_feed(feed_id=feed.pk, now=utcnow()))
        obj.refresh_from_db()

    @display(description="feed", ordering="title")
    def shown_title(self, feed: Feed) -> str:
        return feed.title or feed.url

    @display(
        description="health",
        label={
            "active": "success",
            "failing": "danger",
            "paused": "warning",
            "stopped": "warning",
            "held": "warning",
        },
    )
    def shown_health(self, feed: Feed) -> str:
        return feed.health

    @display(description="posts", ordering="item_count")
    def posts(self, feed: Any) -> str:
        return list_link(Item, str(feed.item_count), feed__id__exact=feed.pk)

    @display(description="settling", ordering="waiting_count")
    def waiting(self, feed: Any) -> int:
        return int(feed.waiting_count)

    @display(description="")
    def how_it_goes(self, feed: Feed) -> str:
        if feed.last_polled_at is None:
            return "It has not been read yet; that happens within seconds while the service runs."
        read = f"Last read {ago(utcnow() - feed.last_polled_at)} ago."
        if feed.failures:
            read += f" It has failed {feed.failures} times in a row: {feed.last_error}"
        if feed.warning:
            read += f" Odd in it: {feed.warning}"
        wait = feed.next_poll_at - utcnow()
        return f"{read} Next reading {'now' if wait.total_seconds() <= 0 else 'in ' + ago(wait)}."

    @display(description="posts")
    def counts(self, feed: Feed) -> str:
        states = dict(feed.items.order_by().values_list("state").annotate(Count("pk")))
        rows = [
            (list_link(Item, label, feed__id__exact=feed.pk, state__exact=state), states.get(state, 0))
            for state, label in Item.State.choices
        ]
        return table(("state", "posts"), rows)

    @display(description="newest")
    def recent(self, feed: Feed) -> str:
        rows = (
            (format_html('<a href="{}">{}</a>', f"../../../item/{item.pk}/change/", item), standing(item))
            for item in feed.items.order_by("-first_seen", "-pk")[:15]
        )
        return table(("post", "why it is or is not sent"), rows, "No posts yet.")

    @action(description="Read now")
    def poll_now(self, request: HttpRequest, queryset: "QuerySet[Feed]") -> None:
        pks = list(queryset.values_list("pk", flat=True))
        for pk in pks[:POLLED_AT_ONCE]:
            tell(request, poll_feed(feed_id=pk, now=utcnow()))
        if len(pks) > POLLED_AT_ONCE:
            Feed.objects.filter(pk__in=pks[POLLED_AT_ONCE:]).update(next_poll_at=utcnow())
            messages.info(request, f"{len(pks) - POLLED_AT_ONCE} more are read within moments.")

    @action(description="Pause")
    def pause(self, request: HttpRequest, queryset: "QuerySet[Feed]") -> None:
        count = sum(bool(alter_feed(feed=feed, status=Feed.Status.PAUSED)) for feed in queryset)
        messages.success(request, f"{count} feeds are paused: they are not read until you resume them.")

    @action(description="Resume")
    def resume(self, request: HttpRequest, queryset: "QuerySet[Feed]") -> None:
        count = sum(bool(alter_feed(feed=feed, status=Feed.Status.ACTIVE)) for feed in queryset)
        request_poll(feed_ids=list(queryset.values_list("pk", flat=True)), now=utcnow())
        messages.success(request, f"{count} feeds are read again.")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def tell(request: HttpRequest, result: PollResult | None) -> None:
    """Shows what a poll brought."""
    if result is None:
        messages.warning(request, "It is being read at this moment, or is paused.")
    elif not result.ok:
        messages.error(request, result.error)
    else:
        messages.success(
            request,
            f"Read: {result.new} new posts, {result.changed} changed, {result.vanished} withdrawn, "
            f"{result.excluded} excluded.",
        )


def standing(item: Item) -> str:
    """The item's explanation, as of now."""
    facts = Standing(
        state=item.state,
        reason=item.reason,
        first_seen=item.first_seen,
        stable_since=item.stable_since,
        final=item.final_at is not None,
        vanished_at=item.vanished_at,
        rolled_off=item.rolled_off_at is not None,
    )
    return explain(facts, timing_of(item.feed), utcnow())


@admin.register(Item)
class ItemAdmin(ReadOnlyAdmin):
    list_display = ("shown_title", "feed", "shown_state", "first_seen", "stable_since", "final_at")
    list_filter = ("state", "feed")
    search_fields = ("title", "link", "guid")
    list_select_related = ("feed",)
    actions = ("include",)
    fields = (
        "shown_title",
        "why",
        "feed",
        "shown_link",
        "guid",
        "published_at",
        "first_seen",
        "stable_since",
        "last_checked",
        "final_at",
        "vanished_at",
    )

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Actions need it; every field is read-only all the same.
        return bool(request.user.is_staff)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.fields, *super().get_readonly_fields(request, obj))

    @display(description="post", ordering="title")
    def shown_title(self, item: Item) -> str:
        return str(item)

    @display(
        description="state",
        label={
            "waiting to settle": "info",
            "in a collection": "warning",
            "done": "success",
            "excluded": "danger",
        },
    )
    def shown_state(self, item: Item) -> str:
        return item.get_state_display()

    @display(description="was it sent, and why not")
    def why(self, item: Item) -> str:
        return standing(item)

    @display(description="link")
    def shown_link(self, item: Item) -> str:
        return format_html('<a href="{0}" rel="noreferrer">{0}</a>', item.link) if item.link else "-"

    @action(description="Send after all (take the exclusion back)")
    def include(self, request: HttpRequest, queryset: "QuerySet[Item]") -> None:
        for pk in queryset.values_list("pk", flat=True)[:50]:
            report(request, lambda pk=pk: include_item(item_id=pk, now=utcnow()))  # type: ignore[misc]
