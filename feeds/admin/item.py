from types import MappingProxyType
from typing import Any

from django.contrib import admin
from django.contrib.admin import SimpleListFilter
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from unfold.decorators import display

from common.admin.html import column, list_link, moment_of, web_link, when
from common.admin.lists import FewChoices, LargeList, asks, newest
from common.admin.page_words import EmptyList
from common.clock import utcnow
from common.parts import Facts, Fold, Link, Part, Strong, Table, Template, Text
from common.ports.panels import Action, Panel
from common.text import pluralize
from feeds.items.held import exclude_held, release
from feeds.items.history import rewordings
from feeds.models import Feed, Item, ItemPage
from feeds.polling.versions import MOST_VERSIONS
from feeds.rules.finality import MORE_THAN, RESTORED, SENT_ELSEWHERE

HELD_SHOWN = 10
WHY_RESTORED = (
    "A backup was restored: posts that appeared after the backup may have been sent already. So "
    "these are held until you decide."
)
WHY_ELSEWHERE_IS_HELD = (
    "Another program read this feed before, and may have sent these already: their dates are not "
    "later. So they are held until you decide."
)
WHY_FLOODS_ARE_HELD = (
    f"This feed suddenly had more than {MORE_THAN} new posts, and more new ones than old. The blog may have "
    "moved, or given all its posts new IDs. So they are held until you decide. If you send all of them, "
    "the next ones are not held."
)
ASK_AGAIN = "To be asked again, switch “hold floods” off, save, and switch it on."
SENT, NOT_SENT = "will be sent once settled", "won’t be sent"
WITHDRAWN = "removed"
HELD = "held for you"
STATE_LABELS = {
    "waiting to settle": "info",
    WITHDRAWN: "warning",
    HELD: "warning",
    "in a next issue": "info",
    "done": "success",
    "excluded": "warning",
}


class HealthFilter(SimpleListFilter):
    title = "How is the feed doing?"
    parameter_name = "health"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("failing", "failing"), ("held", "held for you"), *Feed.Status.choices]

    def queryset(self, request: HttpRequest, queryset: Any) -> "QuerySet[Any]":
        word = self.value()
        if word == "held":
            return queryset.filter(held_since__isnull=False)  # type: ignore[no-any-return]
        return queryset.in_health(word) if word else queryset  # type: ignore[no-any-return]


class SentFilter(SimpleListFilter):
    title = "Which posts are waiting?"
    parameter_name = "state__exact"
    ANSWERS = MappingProxyType(
        {
            Item.State.UNASSIGNED.value: "waiting to settle",
            Item.State.ASSIGNED.value: "in a next issue",
            Item.State.CLEARED.value: "done",
            Item.State.EXCLUDED.value: "excluded: not sent",
        }
    )

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(self.ANSWERS.items())

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        return queryset.filter(state=self.value()) if self.value() in self.ANSWERS else queryset


class HeldFilter(SimpleListFilter):
    title = "Which posts are held for you?"
    parameter_name = "held"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "held until you decide"), ("no", "not held")]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        held = Q(state="unassigned", vanished_at=None, held_at__isnull=False)
        rows = {"yes": queryset.filter(held), "no": queryset.exclude(held)}
        return rows.get(self.value() or "", queryset)


def held(feed: Feed) -> Part:
    if feed.held_since is None:
        return ""
    items = Item.objects.held().filter(feed=feed)
    count = items.count()
    if not count:
        return ""
    are = "is" if count == 1 else "are"
    said = f"{pluralize(count, 'post')} {are} held since {when(feed.held_since)}."
    shown = items.defer("entry").order_by("-published_at", "-pk")[:HELD_SHOWN]
    rows = ((Link(item), when(item.published_at)) for item in shown)
    whys = {RESTORED: WHY_RESTORED, SENT_ELSEWHERE: WHY_ELSEWHERE_IS_HELD}
    reason = items.filter(reason__in=whys).values_list("reason", flat=True).first() or ""
    decide = f"See all {count:,}" if count > HELD_SHOWN else "Decide for each post"
    return (
        Text((Strong(said), f" {whys.get(reason, WHY_FLOODS_ARE_HELD)}"), "sentence"),
        Table(("post", "published"), rows),
        list_link(Item, decide, feed__id__exact=feed.pk, held="yes"),
    )


def holds_posts(feed: Feed) -> bool:
    return feed.held_since is not None


def send_all(request: HttpRequest, keys: list[int]) -> str:
    return decided(release(feed_ids=keys, now=utcnow()), SENT)


def send_none(request: HttpRequest, keys: list[int]) -> str:
    return decided(exclude_held(feed_ids=keys, now=utcnow()), NOT_SENT)


def decided(count: int, becomes: str, of: int = 0) -> str:
    said, others = f"{pluralize(count, 'post')} {becomes}.", of - count
    if others <= 0:
        return said
    were = "was" if others == 1 else "were"
    return f"{said} {pluralize(others, 'other')} {were} not held, so nothing changed."


def what_not_sending_does(count: int) -> list[str]:
    return [
        f"{pluralize(count, 'held post')} won’t be sent.",
        "While a post is in its feed, you can still send it: open it and choose “Send it anyway”.",
    ]


def about(item: Item) -> Part:
    return Facts(
        ("Feed", Link(item.feed)),
        ("Link", web_link(item.link) or "–"),
        ("Its id in the feed", item.guid),
        ("Published", when(item.published_at, "The feed does not say.")),
        ("First seen", when(item.first_seen)),
        ("Unchanged since", when(item.stable_since)),
        ("Last seen in the feed", when(item.last_checked)),
        ("Settled", when(item.final_at, "Not yet." if item.state == Item.State.UNASSIGNED else "")),
        ("Withdrawn", when(item.vanished_at or item.set_aside_at, "")),
        ("Held since", when(item.held_at, "")),
        ("Whole post", whole_post(ItemPage.objects.filter(item=item).first())),
    )


def whole_post(page: ItemPage | None) -> str:
    if page is None:
        return ""
    if page.due_at is not None:
        return f"{page.note} Its page is read soon, and the post waits for it.".strip()
    if not page.note:
        return "Its text is from its page."
    return f"{page.note} {'The text read before stays.' if page.readings else 'The feed’s text is used.'}"


def what_changed(item: Item) -> Part:
    found = rewordings(item.pk, limit=MOST_VERSIONS)
    shown = [
        (Text(when(each.at), "note"), Template("pages/_changes.html", {"parts": each.parts}))
        for each in found
    ]
    earlier = tuple(shown[1:])
    return (*shown[:1], Fold(f"Earlier changes: {len(earlier)}", earlier) if earlier else "")


def is_held(item: Item) -> bool:
    return item.state == Item.State.UNASSIGNED and item.vanished_at is None and item.held_at is not None


def send_held(request: HttpRequest, keys: list[int]) -> str:
    return decided(release(item_ids=keys, now=utcnow()), SENT, len(keys))


def drop_held(request: HttpRequest, keys: list[int]) -> str:
    return decided(exclude_held(item_ids=keys, now=utcnow()), NOT_SENT, len(keys))


@admin.register(Item)
class ItemAdmin(LargeList):
    list_display = ("shown_title", "feed", "shown_state", "seen")
    list_per_page = 20
    list_filter = (SentFilter, HeldFilter, ("feed", asks("From which feed?", FewChoices)))
    search_fields = ("title", "link", "guid")
    search_help_text = (
        "Words of the title, a link or an id: among a feed’s posts, or the newest 20,000 of all."
    )
    list_select_related = ("feed",)
    scope = "feed__subscribables"
    empty = EmptyList(
        "No posts yet",
        "Posts are read from your feeds. Each one says when it is sent, or why not.",
        "Add a feed",
        "admin:feeds_feed_add",
    )
    # The app that sends adds a panel.
    own_panels = (Panel("What changed", what_changed, order=20), Panel("About it", about))
    own_actions = (
        Action("release", "Send held posts", send_held, fits=is_held),
        # A post's page has “Do not send”.
        Action(
            "drop_held",
            "Don’t send held posts",
            drop_held,
            confirm=lambda keys: what_not_sending_does(Item.objects.held().filter(pk__in=keys).count()),
            fits=lambda item: False,
        ),
    )
    columns_before = "seen"
    seen = moment_of("first_seen", "seen")
    shown_title = column("post", str)

    def get_search_results(
        self, request: HttpRequest, queryset: "QuerySet[Item]", search_term: str
    ) -> "tuple[QuerySet[Item], bool]":
        """Search all posts of one feed, as they are few, else the newest."""
        rows = queryset if "feed__id__exact" in request.GET else newest(queryset)
        result: tuple[QuerySet[Item], bool] = super().get_search_results(request, rows, search_term)
        return result if search_term.strip() else (queryset, False)

    @display(description="state", label=STATE_LABELS)
    def shown_state(self, item: Item) -> str:
        if item.set_aside_at or (item.state == Item.State.UNASSIGNED and item.vanished_at):
            return WITHDRAWN
        if is_held(item):
            return HELD
        return item.get_state_display()
