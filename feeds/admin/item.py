"""The pages of posts."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from common.admin.html import facts, link_to, moment_of, web_link, when
from common.admin.lists import FewChoices, LargeList, newest
from common.admin.page_words import EmptyList
from common.admin.questions import asks
from common.clock import utcnow
from common.ports.panels import Action, Panel
from feeds.admin.filters import HeldFilter, SentFilter
from feeds.admin.held import dropped, released, what_not_sending_does
from feeds.items.held import exclude_held, release
from feeds.items.include import include_item
from feeds.models import Item

INCLUDED_AT_ONCE = 50
WITHDRAWN = "withdrawn"
HELD = "held for you"
STATE_LABELS = {
    "waiting to settle": "info",
    WITHDRAWN: "warning",
    HELD: "warning",
    "in a collection": "info",
    "done": "success",
    "excluded": "warning",
}


def about(item: Item) -> SafeString:
    rows = [
        ("Feed", link_to(item.feed)),
        ("Link", web_link(item.link) or "–"),
        ("Its id in the feed", item.guid),
        ("Published", when(item.published_at, "The feed does not say.")),
        ("First seen", when(item.first_seen)),
        ("Unchanged since", when(item.stable_since)),
        ("Last seen in the feed", when(item.last_checked)),
        ("Settled", when(item.final_at, "Not.")),
    ]
    if item.vanished_at:
        rows.append(("Withdrawn", when(item.vanished_at)))
    if item.set_aside_at:
        rows.append(("Withdrawn", when(item.set_aside_at)))
    if item.held_at:
        rows.append(("Held since", when(item.held_at)))
    return facts(rows)


def include(request: HttpRequest, keys: list[int]) -> str:
    for key in keys[:INCLUDED_AT_ONCE]:
        messages.info(request, include_item(item_id=key, now=utcnow()))
    left = len(keys) - INCLUDED_AT_ONCE
    return f"{left:,} more were left alone: at most {INCLUDED_AT_ONCE} at once." if left > 0 else ""


def is_held(item: Item) -> bool:
    return item.state == Item.State.UNASSIGNED and item.vanished_at is None and item.held_at is not None


def send_held(request: HttpRequest, keys: list[int]) -> str:
    return released(release(item_ids=keys, now=utcnow()), len(keys))


def drop_held(request: HttpRequest, keys: list[int]) -> str:
    return dropped(exclude_held(item_ids=keys, now=utcnow()), len(keys))


def what_dropping_held_does(keys: list[int]) -> list[str]:
    return what_not_sending_does(Item.objects.held().filter(pk__in=keys).count())


@admin.register(Item)
class ItemAdmin(LargeList):
    list_display = ("shown_title", "feed", "shown_state", "seen", "settled")
    list_filter = (SentFilter, HeldFilter, ("feed", asks("From which feed?", FewChoices)))
    search_fields = ("title", "link", "guid")
    search_help_text = (
        "Words of the title, a link or an id: among a feed’s posts, or the newest 20,000 of all."
    )
    list_select_related = ("feed",)
    empty = EmptyList(
        "No posts so far",
        "Posts come from feeds. Each is seen here within minutes of its first reading, with when it is sent"
        " or why it is not.",
        "Add a feed",
        "admin:feeds_feed_add",
        "feeds.add_feed",
    )
    # What became of it is told by the app that sends.
    own_panels = (Panel("About it", about),)
    own_actions = (
        Action("include", "Send after all", include, fits=lambda item: item.state == "excluded"),
        Action("release", "Send what is held", send_held, fits=is_held),
        # On a post's own page, “Do not send” does the same.
        Action(
            "drop_held",
            "Do not send what is held",
            drop_held,
            confirm=what_dropping_held_does,
            fits=lambda item: False,
        ),
    )
    columns_before = "seen"
    seen = moment_of("first_seen", "first seen")
    settled = moment_of("final_at", "settled")

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Item]", search_term: str
    ) -> "tuple[QuerySet[Item], bool]":
        """All of a feed's own posts are searched: they are few."""
        rows = queryset if "feed__id__exact" in request.GET else newest(queryset)
        found: tuple[QuerySet[Item], bool] = super().get_search_results(request, rows, search_term)
        return found if search_term.strip() else (queryset, False)

    @display(description="post")
    def shown_title(self, item: Item) -> str:
        return str(item)

    @display(description="state", label=STATE_LABELS)
    def shown_state(self, item: Item) -> str:
        if item.set_aside_at or (item.state == Item.State.UNASSIGNED and item.vanished_at):
            return WITHDRAWN
        if is_held(item):
            return HELD
        return item.get_state_display()
