"""The pages of feeds."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from common.admin.html import facts, html_table, link_to, list_link, listed, moment_of, web_link, when
from common.admin.model_admin import ServiceAdmin, count_of
from common.admin.page_words import EmptyList
from common.clock import utcnow
from common.ports import panels
from common.ports.panels import Action, Panel
from feeds.adding.edit import alter_feed
from feeds.admin.adding import AddingPages
from feeds.admin.bulk import ACTIONS, READ_NOW
from feeds.admin.filters import HealthFilter
from feeds.admin.forecasts import ForecastPage
from feeds.admin.form import FeedForm, fieldsets
from feeds.admin.held import ASK_AGAIN, held, holds_posts, send_all, send_none, what_sending_none_does
from feeds.admin.hub import ask_hub, can_ask, hub
from feeds.admin.opml import OpmlPages
from feeds.admin.tag import TagFilter
from feeds.admin.timeline import at_a_glance, timeline
from feeds.admin.words import last_reading, next_reading
from feeds.credentials import exposure
from feeds.models import Feed, Item

NEWEST = 15
FORGOTTEN = (
    "The user name and password of the old address are forgotten, because the new one is at another host."
    " Enter them again if that host is to have them."
)
HEALTH_LABELS = {
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
    if feed.hold_floods and feed.floods_sent_at:
        rows.append(("Floods", f"Not held since {when(feed.floods_sent_at)}. {ASK_AGAIN}"))
    return facts([*rows, ("Posts", states(feed))])


def states(feed: Feed) -> SafeString | str:
    """How many posts are in each state, as links to them."""
    counts = dict(feed.items.order_by().values_list("state").annotate(Count("pk")))
    links = [
        list_link(Item, f"{counts[state]:,} {label}", feed__id__exact=feed.pk, state__exact=state)
        for state, label in Item.State.choices
        if state in counts
    ]
    return listed(links) if links else "None so far. They appear here as soon as it has been read."


def newest_posts(feed: Feed) -> SafeString:
    rows = feed.items.select_related("feed").defer("entry").order_by("-first_seen", "-published_at", "-pk")
    items = list(rows[:NEWEST])
    # The apps that send posts say what became of them.
    columns = panels.columns_of(Item._meta.label)
    later = [column.of_rows(items) for column in columns]
    return html_table(
        ("post", "published", *(column.title for column in columns)),
        (
            (link_to(item), when(item.published_at), *(found.get(item.pk, "") for found in later))
            for item in items
        ),
        "No posts so far. They come with the first reading.",
    )


@admin.register(Feed)
class FeedAdmin(AddingPages, ForecastPage, OpmlPages, ServiceAdmin):
    form = FeedForm
    list_display = ("shown_title", "shown_health", "shown_tags", "posts", "waiting", "last_read", "next_read")
    list_filter = (HealthFilter, TagFilter)
    search_fields = ("title", "url")
    empty = EmptyList(
        "No feeds so far",
        "Feedletter watches the feeds of blogs, and makes newsletters of their posts. The address of a blog"
        " is enough: its feed is found.",
        "Add a feed",
        "admin:feeds_feed_add",
        "feeds.add_feed",
    )
    own_panels = (
        Panel("Held for you", held, order=1),
        Panel("How it goes", how_it_goes, order=10),
        Panel("At a glance", at_a_glance, order=15),
        Panel("Its hub", hub, order=20),
        Panel("Newest posts", newest_posts, order=30),
        Panel("Readings", timeline, order=40),
    )
    own_actions = (
        Action("send_held", "Send the held posts", send_all, fits=holds_posts),
        Action(
            "drop_held",
            "Do not send the held posts",
            send_none,
            confirm=what_sending_none_does,
            fits=holds_posts,
        ),
        READ_NOW,
        Action("ask_hub", "Ask the hub again", ask_hub, fits=can_ask),
        *ACTIONS,
    )
    last_read = moment_of("last_polled_at", "last read", "not yet")
    next_read = moment_of("next_poll_at", "next reading")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Feed]":
        every: QuerySet[Feed] = super().get_queryset(request)
        waiting = Item.objects.settling()
        every = every.prefetch_related("tags")
        return every.annotate(
            item_count=count_of(Item.objects.all(), "feed"), waiting_count=count_of(waiting, "feed")
        )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return fieldsets(obj) if obj is not None else ()

    def save_model(self, request: HttpRequest, obj: Feed, form: Any, change: bool) -> None:
        # Feeds are added by AddingPages.
        had = bool(obj.credentials)
        feed = alter_feed(feed=obj, **form.changes())
        if had and not feed.credentials and form.credentials() is None:
            messages.warning(request, FORGOTTEN)
        if warning := exposure(feed) if form.credentials() else "":
            messages.warning(request, warning)

    @display(description="feed", ordering="title")
    def shown_title(self, feed: Feed) -> str:
        return str(feed)

    @display(description="health", label=HEALTH_LABELS)
    def shown_health(self, feed: Feed) -> str:
        return feed.health

    @display(description="tags")
    def shown_tags(self, feed: Feed) -> SafeString | str:
        tags = sorted(feed.tags.all(), key=lambda tag: tag.name.casefold())
        links = [list_link(Feed, tag.name, tag=tag.pk) for tag in tags]
        return format_html('<span class="fl-tags">{}</span>', listed(links)) if links else "–"

    @display(description="posts", ordering="item_count")
    def posts(self, feed: Any) -> SafeString:
        return list_link(Item, f"{feed.item_count:,}", feed__id__exact=feed.pk)

    @display(description="settling", ordering="waiting_count")
    def waiting(self, feed: Any) -> str:
        return f"{feed.waiting_count:,}"
