"""The pages of issues."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from common.admin import ReadOnlyAdmin, count_of
from common.admin_html import facts, link_to, list_link, listed, moment_of, table, web_link, when
from common.panels import Panel
from delivery.admin.preview import as_it_went_out
from delivery.links import archive_url
from delivery.models import Delivery, Issue, IssueItem

ARRIVED = ("sent", "stored")
MISSED = ("deferred", "failed", "held", "cancelled")
SHOWN = 50


def about(issue: Issue) -> SafeString:
    rows: list[tuple[str, Any]] = [
        ("Newsletter", link_to(issue.subscribable)),
        ("Subject", issue.subject),
        ("Published", when(issue.published_at, "Not yet: it waits for approval.")),
    ]
    if issue.period_start and issue.period_end:
        rows.append(("Holds posts that settled", f"{when(issue.period_start)} to {when(issue.period_end)}"))
    page = archive_url(issue.subscribable)
    if page and issue.published_at:
        rows.append(("In the archive", web_link(f"{page}{issue.pk}/")))
    return facts(rows)


def reached(issue: Issue) -> SafeString:
    """How many got it, how many are where."""
    counts = issue.deliveries.all().counts()
    arrived = sum(counts.get(state, 0) for state in ARRIVED)
    states = [
        list_link(
            Delivery, f"{counts[state]:,} {label.lower()}", issue__id__exact=issue.pk, state__exact=state
        )
        for state, label in Delivery.State.choices
        if state in counts
    ]
    if not states:
        return facts([("How many got it", "Nobody was subscribed when it was published.")])
    return facts(
        [("How many got it", f"{arrived:,} of {sum(counts.values()):,}"), ("In detail", listed(states))]
    )


def missed(issue: Issue) -> SafeString:
    rows = issue.deliveries.filter(state__in=MISSED).select_related("destination").order_by("pk")[: SHOWN + 1]
    shown = [
        (link_to(row, row.destination), row.get_state_display().lower(), row.last_error)
        for row in rows[:SHOWN]
    ]
    more = list_link(Delivery, "all of them", issue__id__exact=issue.pk)
    return table(
        ("to", "state", "in the server’s words"),
        [*shown, *([("…", "", more)] if len(rows) > SHOWN else [])],
        "Everybody got it, or is about to.",
    )


def posts(issue: Issue) -> SafeString:
    rows = issue.issue_items.select_related("item__feed").defer("entry", "item__entry").order_by("position")
    return table(
        ("post", "feed"),
        ((link_to(row.item), row.item.feed) if row.item else ("deleted", "") for row in rows[:SHOWN]),
        "It has no posts.",
    )


@admin.register(Issue)
class IssueAdmin(ReadOnlyAdmin):
    list_display = ("title", "newsletter", "published", "posts", "reached")
    list_filter = ("subscribable",)
    search_fields = ("title", "subject")
    list_select_related = ("subscribable",)
    ordering = ("-created_at", "-pk")
    own_panels = (
        Panel("About it", about, order=10),
        Panel("Who got it", reached, order=20),
        Panel("Who did not", missed, order=30),
        Panel("Posts", posts, order=40),
        Panel("As it went out", as_it_went_out, order=90, is_beside=True),
    )
    published = moment_of("published_at", "published", "not yet")

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Issue]":
        every: QuerySet[Issue] = super().get_queryset(request)
        deliveries = Delivery.objects.all()
        return every.defer("html", "text").annotate(
            post_count=count_of(IssueItem.objects.all(), "issue"),
            arrived_count=count_of(deliveries.filter(state__in=ARRIVED), "issue"),
            delivery_count=count_of(deliveries, "issue"),
        )

    @display(description="newsletter", ordering="subscribable")
    def newsletter(self, issue: Issue) -> str:
        return str(issue.subscribable)

    @display(description="posts", ordering="post_count")
    def posts(self, issue: Any) -> int:
        return int(issue.post_count)

    @display(description="got it", ordering="arrived_count")
    def reached(self, issue: Any) -> SafeString:
        shown = f"{issue.arrived_count:,} of {issue.delivery_count:,}"
        return list_link(Delivery, shown, issue__id__exact=issue.pk)
