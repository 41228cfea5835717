from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from common.admin.html import ago, brief, column, list_link, moment_of, web_link, when
from common.admin.model_admin import ServiceAdmin
from common.admin.page_words import EmptyList
from common.clock import utcnow
from common.db.bulk import count_of
from common.parts import Facts, Link, Part, Table, Text, listed
from common.ports import panels
from common.ports.panels import Action, Panel
from common.text import pluralize
from feeds.adding.add import alter_feed, alter_feeds, start_over
from feeds.admin.adding import AddingPages
from feeds.admin.form import FeedForm, fieldsets
from feeds.admin.item import (
    ASK_AGAIN,
    HealthFilter,
    held,
    holds_posts,
    send_all,
    send_none,
    what_not_sending_does,
)
from feeds.admin.opml import OpmlPages
from feeds.admin.tag import FEED_LISTS, AddTags, RemoveTags, TagFilter, add_tags, remove_tags
from feeds.admin.timeline import ForecastPage, at_a_glance, timeline
from feeds.admin_words import last_reading, next_reading, tell
from feeds.credentials import exposure
from feeds.hubs.subscriptions import ask_again, is_reachable, offered
from feeds.models import Feed, HubSubscription, Item
from feeds.models.feed import A_MONTH
from feeds.polling.poll import poll_feed, request_poll
from feeds.rules.websub import SILENT_AFTER, TAKES_PUSHES, hub_is_live

SWITCHED_OFF = (
    "{} can push new posts, but “Let its hub push posts” is off. The feed is read regularly instead."
)
UNREACHABLE = (
    "{} can push new posts, but it can’t reach SITE_URL ({}). The feed is read regularly instead. To get"
    " pushes, set SITE_URL to this installation’s public address."
)
SOON = "{} offers to push new posts. We ask it after the feed’s next reading at the latest."
READ_AT_ONCE = 5
# A message's size is limited.
UNDONE_AT_ONCE = 200
NEWEST = 5
FORGOTTEN = (
    "The user name and password were deleted, because the new address is at another host."
    " Enter them again if the new host needs them."
)
HEALTH_LABELS = {
    "active": "success",
    "failing": "danger",
    "paused": "warning",
    "stopped": "warning",
    "held": "warning",
}


def read_now(request: HttpRequest, keys: list[int]) -> str:
    for key in keys[:READ_AT_ONCE]:
        tell(request, poll_feed(feed_id=key, now=utcnow()))
    if later := request_poll(feed_ids=keys[READ_AT_ONCE:], now=utcnow()):
        messages.info(request, f"{pluralize(later, 'more feed')} will be read in a moment.")
    return ""


def start_again(request: HttpRequest, keys: list[int]) -> str:
    failing = list(Feed.objects.in_health("failing").filter(pk__in=keys).values_list("pk", flat=True))
    if not failing:
        return "None of them is failing."
    for key in failing[:READ_AT_ONCE]:
        tell(request, poll_feed(feed_id=key, now=utcnow()))
    if later := start_over(feeds=failing[READ_AT_ONCE:], now=utcnow()):
        messages.info(request, f"{pluralize(later, 'more failing feed')} will be read in a moment.")
    return ""


def pause(request: HttpRequest, keys: list[int]) -> str:
    paused = _set_status(keys, Feed.Status.PAUSED)
    said = f"{pluralize(len(paused), 'feed')} paused. Nothing is read or settles until you resume them."
    return undoable(request, said, "resume", paused)


def resume(request: HttpRequest, keys: list[int]) -> str:
    resumed = _set_status(keys, Feed.Status.ACTIVE)
    request_poll(feed_ids=resumed, now=utcnow())
    return undoable(request, f"{pluralize(len(resumed), 'feed')} resumed.", "pause", resumed)


def _set_status(keys: list[int], status: str) -> list[int]:
    """Return the feeds that had another status."""
    feeds = list(Feed.objects.filter(pk__in=keys, dropping=False).exclude(status=status))
    for feed in feeds:
        alter_feed(feed=feed, status=status)
    return [feed.pk for feed in feeds]


def undoable(request: HttpRequest, said: str, action: str, keys: Sequence[int]) -> str:
    if not keys or len(keys) > UNDONE_AT_ONCE:
        return said
    chosen = format_html_join(
        "", '<input type="hidden" name="_selected_action" value="{}">', ((key,) for key in keys)
    )
    return format_html(
        '{} <form method="post" action="{}" class="fl-undo"><input type="hidden" name="csrfmiddlewaretoken"'
        ' value="{}"><input type="hidden" name="index" value="0">{}'
        '<button name="action" value="{}">Undo</button></form>',
        said,
        reverse("admin:feeds_feed_changelist"),
        get_token(request),
        chosen,
        action,
    )


def _minutes(label: str) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        required=False,
        validators=[MinValueValidator(0), MaxValueValidator(A_MONTH)],
        help_text="Leave empty to keep each feed’s setting.",
        widget=UnfoldAdminIntegerFieldWidget(attrs={"min": 0}),
    )


class PaceForm(forms.Form):
    pace = forms.ChoiceField(
        label="Read them",
        required=False,
        choices=[("", "keep each feed’s setting"), *Feed.Pace.choices],
        widget=UnfoldAdminSelectWidget(),
    )
    recheck_every_minutes = _minutes("Read every (minutes)")
    ceiling_minutes = _minutes("At least every (minutes)")

    def __init__(self, keys: list[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.intro = f"How should {pluralize(len(keys), 'feed')} be read?"

    def clean(self) -> dict[str, Any]:
        data = {name: value for name, value in (super().clean() or {}).items() if value not in (None, "")}
        if not data and not self.errors:
            self.add_error("pace", "Change at least one of these.")
        return data


def change_pace(request: HttpRequest, keys: list[int], **changes: Any) -> str:
    return f"{pluralize(alter_feeds(feeds=keys, **changes), 'feed')} changed."


def _never(feed: Feed) -> bool:
    """A feed's page has a form for this."""
    return False


def hub(feed: Feed) -> Part:
    row = subscription_of(feed)
    if row is None:
        offer = offered(feed) if feed.status == Feed.Status.ACTIVE else None
        if offer is None:
            return ""
        host = urlsplit(offer.hub).hostname or offer.hub
        if not feed.use_hub:
            return SWITCHED_OFF.format(host)
        return SOON.format(host) if is_reachable() else UNREACHABLE.format(host, settings.SITE_URL)
    states = HubSubscription.State
    unsigned = f"{pluralize(row.refused, 'push', 'pushes')} with a wrong or no signature"
    return Facts(
        ("Hub", row.hub),
        ("Pushes", describe_pushes(row, utcnow())),
        ("Last error", "" if row.state == states.DENIED else row.last_error),
        (
            "Agreed until",
            f"{when(row.expires_at)}. Renewed before then." if row.state == states.ACTIVE else "",
        ),
        ("Last push", when(row.last_push_at, "None so far.")),
        ("Ignored", unsigned if row.refused else ""),
    )


def describe_pushes(row: HubSubscription, now: datetime) -> str:
    if not is_reachable():
        return f"They can’t arrive: the hub can’t reach SITE_URL ({settings.SITE_URL})."
    if hub_is_live(row.state, row.expires_at, row.missed, now):
        return "New posts are pushed when they are published, so the feed is read less often."
    if row.state in TAKES_PUSHES and row.missed >= SILENT_AFTER:
        return "The hub missed the latest posts. Until it works again, the feed is read as if it had no hub."
    wait = row.next_at - now
    again = f"We ask again {f'in {ago(wait)}' if wait.total_seconds() > 0 else 'within a minute'}."
    if row.state == HubSubscription.State.DENIED:
        said = f": “{row.last_error.rstrip('.')}”." if row.last_error else "."
        return f"The hub refused to push this feed{said} {again}"
    if row.state == HubSubscription.State.PENDING and not row.last_error:
        return f"We asked the hub {pluralize(row.failures, 'time')}; it hasn’t called back yet. {again}"
    return f"Not yet. {again}"


def subscription_of(feed: Feed) -> HubSubscription | None:
    return HubSubscription.objects.filter(feed=feed).first()


def can_ask(feed: Feed) -> bool:
    return feed.status == Feed.Status.ACTIVE and is_reachable() and subscription_of(feed) is not None


def ask_hub(request: HttpRequest, keys: list[int]) -> str:
    asked = ask_again(feeds=keys, now=utcnow())
    if not asked:
        return "There is no hub to ask: these feeds name none, or are paused."
    return f"{pluralize(asked, 'hub')} will be asked within a minute."


def how_it_goes(feed: Feed) -> Part:
    now = utcnow()
    not_held = f"Not held since {when(feed.floods_sent_at)}. {ASK_AGAIN}"
    return Facts(
        ("Address", web_link(feed.url)),
        ("Last reading", last_reading(feed, now)),
        ("Last error", feed.last_error if feed.failures else ""),
        ("Next reading", next_reading(feed, now)),
        ("Problems", feed.warning),
        ("Many posts at once", not_held if feed.hold_floods and feed.floods_sent_at else ""),
        ("Posts", states(feed)),
    )


def states(feed: Feed) -> Part:
    counts = dict(feed.items.order_by().values_list("state").annotate(Count("pk")))
    links = [
        list_link(Item, f"{counts[state]:,} {label}", feed__id__exact=feed.pk, state__exact=state)
        for state, label in Item.State.choices
        if state in counts
    ]
    return listed(links) if links else "None yet. They appear once the feed is read."


def newest_posts(feed: Feed) -> Part:
    rows = feed.items.select_related("feed").defer("entry").order_by("-first_seen", "-published_at", "-pk")
    items = list(rows[:NEWEST])
    # Apps that send posts add columns.
    columns = panels.added(Item._meta.label, panels.Column)
    later = [column.of_rows(items) for column in columns]
    return Table(
        ("post", "published", *(column.title for column in columns)),
        (
            (Link(item), brief(item.published_at), *(cells.get(item.pk, "") for cells in later))
            for item in items
        ),
        "No posts yet. They appear after the first reading.",
    )


def tags_of(feed: Feed) -> Part:
    tags = sorted(feed.tags.all(), key=lambda tag: tag.name.casefold())
    links = [list_link(Feed, tag.name, tag=tag.pk) for tag in tags]
    return Text(listed(links), "tags") if links else "–"


@admin.register(Feed)
class FeedAdmin(AddingPages, ForecastPage, OpmlPages, ServiceAdmin):
    form = FeedForm
    list_display = ("shown_title", "shown_health", "shown_tags", "posts", "waiting", "last_read", "next_read")
    list_filter = (HealthFilter, TagFilter)
    columns_before = "last_read"
    search_fields = ("title", "url")
    scope = "subscribables"
    beside = FEED_LISTS
    empty = EmptyList(
        "No feeds yet",
        "Feedletter reads the feeds of blogs and turns their posts into newsletters. Paste a blog’s address,"
        " and we find its feed.",
        "Add a feed",
        "admin:feeds_feed_add",
    )
    own_panels = (
        Panel("Held for you", held, order=1),
        Panel("Status", how_it_goes, order=10),
        Panel("At a glance", at_a_glance, order=15),
        Panel("Hub", hub, order=20),
        Panel("Newest posts", newest_posts, order=30),
        Panel("Readings", timeline, order=40),
    )
    own_actions = (
        Action("send_held", "Send the held posts", send_all, fits=holds_posts),
        Action(
            "drop_held",
            "Don’t send the held posts",
            send_none,
            confirm=lambda keys: what_not_sending_does(Item.objects.held().filter(feed__in=keys).count()),
            fits=holds_posts,
        ),
        Action("read_now", "Read now", read_now, fits=lambda feed: feed.status == "active"),
        Action("ask_hub", "Ask the hub again", ask_hub, fits=can_ask),
        Action("start_over", "Retry failing feeds", start_again, fits=_never),
        Action("pause", "Pause", pause, fits=lambda feed: feed.status == "active"),
        Action("resume", "Resume", resume, fits=lambda feed: feed.status != "active" and not feed.dropping),
        Action("add_tags", "Add tags", add_tags, form=AddTags, fits=_never),
        Action("remove_tags", "Remove tags", remove_tags, form=RemoveTags, fits=_never),
        Action("change_pace", "Change reading frequency", change_pace, form=PaceForm, fits=_never),
    )
    last_read = moment_of("last_polled_at", "last read", "not yet")
    next_read = moment_of("next_poll_at", "next reading")
    shown_title = column("feed", str, ordering="title")
    shown_health = column("health", lambda feed: feed.health, label=HEALTH_LABELS)
    waiting = column("settling", lambda feed: f"{feed.waiting_count:,}", ordering="waiting_count")
    shown_tags = column("tags", tags_of)
    posts = column(
        "posts", lambda feed: list_link(Item, feed.item_count, feed__id__exact=feed.pk), ordering="item_count"
    )

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
        had = bool(obj.credentials)
        feed = alter_feed(feed=obj, **form.changes())
        if had and not feed.credentials and form.credentials() is None:
            messages.warning(request, FORGOTTEN)
        if warning := exposure(feed) if form.credentials() else "":
            messages.warning(request, warning)
