"""The pages of feeds."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.widgets import UnfoldAdminTextInputWidget

from common.admin import ServiceAdmin, count_of
from common.admin_html import facts, link_to, list_link, listed, moment_of, table, web_link, when
from common.clock import utcnow
from common.panels import Action, Panel
from common.text import counted
from feeds.admin.filters import HealthFilter
from feeds.admin.words import last_reading, next_reading, standing, tell
from feeds.models import Feed, Item
from feeds.services.adding import add_feed
from feeds.services.editing import EDITABLE, alter_feed
from feeds.services.polling import poll_feed, request_poll

TIMING = ("min_delay_minutes", "await_stabilization_minutes", "max_delay_minutes", "recheck_every_minutes")
NAMES = {
    "min_delay_minutes": "Not before",
    "await_stabilization_minutes": "Unchanged for",
    "max_delay_minutes": "At the latest after",
    "recheck_every_minutes": "Read every",
}
READ_AT_ONCE = 5
NEWEST = 15
LABELS = {
    "active": "success",
    "failing": "danger",
    "paused": "warning",
    "stopped": "warning",
    "held": "warning",
}


def how_it_goes(feed: Feed) -> SafeString:
    now = utcnow()
    rows: list[tuple[str, Any]] = [
        ("Address", web_link(feed.url)),
        ("Last reading", last_reading(feed, now)),
        ("Next reading", next_reading(feed, now)),
    ]
    if feed.failures:
        rows.insert(2, ("What was wrong", feed.last_error))
    if feed.warning:
        rows.append(("Odd in it", feed.warning))
    return facts([*rows, ("Posts", states(feed))])


def states(feed: Feed) -> SafeString | str:
    """How many posts are in each state, as links to them."""
    counts = dict(feed.items.order_by().values_list("state").annotate(Count("pk")))
    links = [
        list_link(Item, f"{counts[state]:,} {label}", feed__id__exact=feed.pk, state__exact=state)
        for state, label in Item.State.choices
        if state in counts
    ]
    return listed(links) if links else "None so far."


def newest(feed: Feed) -> SafeString:
    now = utcnow()
    items = feed.items.select_related("feed").defer("entry").order_by("-first_seen", "-published_at", "-pk")
    rows = ((link_to(item), when(item.published_at), standing(item, now)) for item in items[:NEWEST])
    return table(("post", "published", "is it sent"), rows, "No posts so far.")


def read_now(request: HttpRequest, keys: list[int]) -> str:
    for key in keys[:READ_AT_ONCE]:
        tell(request, poll_feed(feed_id=key, now=utcnow()))
    if later := request_poll(feed_ids=keys[READ_AT_ONCE:], now=utcnow()):
        messages.info(request, f"{counted(later, 'more feed')} will be read within moments.")
    return ""


def pause(request: HttpRequest, keys: list[int]) -> str:
    paused = _set_status(keys, Feed.Status.PAUSED)
    return f"{counted(paused, 'feed')} paused: not read, and nothing of them settles, until you resume them."


def resume(request: HttpRequest, keys: list[int]) -> str:
    resumed = _set_status(keys, Feed.Status.ACTIVE)
    request_poll(feed_ids=keys, now=utcnow())
    return f"{counted(resumed, 'feed')} resumed."


def _set_status(keys: list[int], status: str) -> int:
    feeds = list(Feed.objects.filter(pk__in=keys, dropping=False).exclude(status=status))
    for feed in feeds:
        alter_feed(feed=feed, status=status)
    return len(feeds)


@admin.register(Feed)
class FeedAdmin(ServiceAdmin):
    list_display = ("shown_title", "shown_health", "posts", "waiting", "last_read", "next_read")
    list_filter = (HealthFilter,)
    search_fields = ("title", "url")
    conditional_fields = {"start_count": "start == 'last'"}  # noqa: RUF012
    shown_after_adding = True
    own_panels = (Panel("How it goes", how_it_goes, order=10), Panel("Newest posts", newest, order=30))
    own_actions = (
        Action("read_now", "Read now", read_now, fits=lambda feed: feed.status == "active"),
        Action("pause", "Pause", pause, fits=lambda feed: feed.status == "active"),
        Action("resume", "Resume", resume, fits=lambda feed: feed.status != "active" and not feed.dropping),
    )
    last_read = moment_of("last_polled_at", "last read", "not yet")
    next_read = moment_of("next_poll_at", "next reading")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Feed]":
        every: QuerySet[Feed] = super().get_queryset(request)
        waiting = Item.objects.unassigned()
        return every.annotate(
            item_count=count_of(Item.objects.all(), "feed"), waiting_count=count_of(waiting, "feed")
        )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        timing = ("When a post counts as settled (minutes)", {"fields": TIMING, "classes": ("collapse",)})
        if obj is None:
            return ((None, {"fields": ("url", "start", "start_count")}), timing)
        return (("Settings", {"fields": ("url", "title")}), timing)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        widgets = {"url": UnfoldAdminTextInputWidget(), "title": UnfoldAdminTextInputWidget()}
        return super().get_form(request, obj, change=change, widgets=widgets, labels=NAMES, **kwargs)

    def save_model(self, request: HttpRequest, obj: Feed, form: Any, change: bool) -> None:
        data = form.cleaned_data
        if change:
            alter_feed(feed=obj, **{name: data[name] for name in form.changed_data if name in EDITABLE})
            return
        given = {name: data[name] for name in ("url", "start", "start_count", *TIMING)}
        obj.pk = add_feed(now=utcnow(), **given).pk
        messages.success(request, "The feed was added.")
        tell(request, poll_feed(feed_id=obj.pk, now=utcnow()))
        obj.refresh_from_db()

    def save_related(self, *args: Any) -> None:
        """There is nothing besides what the services saved."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        # Feeds are dropped, by an action: their posts may still be on their way.
        return False

    @display(description="feed", ordering="title")
    def shown_title(self, feed: Feed) -> str:
        return str(feed)

    @display(description="health", label=LABELS)
    def shown_health(self, feed: Feed) -> str:
        return feed.health

    @display(description="posts", ordering="item_count")
    def posts(self, feed: Any) -> SafeString:
        return list_link(Item, f"{feed.item_count:,}", feed__id__exact=feed.pk)

    @display(description="settling", ordering="waiting_count")
    def waiting(self, feed: Any) -> int:
        return int(feed.waiting_count)
