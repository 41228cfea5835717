"""Admin pages of issues."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin import RelatedFieldListFilter, SimpleListFilter
from django.db.models import QuerySet
from django.forms.widgets import Script
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import URLPattern
from django.views.decorators.http import require_POST

from common.admin.html import add_url, block, brief, column, list_link, object_url
from common.admin.lists import asks
from common.admin.model_admin import ReadOnlyAdmin
from common.admin.page_words import EmptyList
from common.admin.refusals import require
from common.admin.resources import actions_of
from common.clock import utcnow
from common.db.bulk import count_of
from common.parts import Button, Part
from common.ports.panels import Panel
from common.text import shortened
from delivery.admin import issue_figures, issue_panels
from delivery.admin.bridges.panels import what_was_posted
from delivery.admin.broadcasts.forms import drafts_and_scheduled
from delivery.admin.edits.panels import EDIT_FORM, draft_posts, edits_words, mending
from delivery.admin.edits.view import edit_draft, edit_next, edit_settling, save_words_of_draft
from delivery.issues import progress
from delivery.issues.broadcasts import begin_correction, copy_letter
from delivery.models import Broadcast, Delivery, Issue, IssueImport, IssueItem
from delivery.resources.issues import issues
from delivery.rules.progress import STATES, arrived, told, total

ISSUE_COLOURS = {
    "draft": "info",
    "waiting": "info",
    "sending": "info",
    "sent": "success",
    "paused": "warning",
    "cancelled": "warning",
    "imported": "info",
}
ISSUES_PER_PAGE = 25
LONGEST_COLUMN_TITLE = 50


class StateFilter(SimpleListFilter):
    title = "Which state?"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state, issue_panels.ISSUE_STATE_WORDS[state]) for state in STATES]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Issue]") -> "QuerySet[Issue]":
        wanted = self.value()
        return progress.in_state(queryset, wanted) if wanted in STATES else queryset


def reached_by(issue: Any) -> Part:
    if issue.published_at is None or issue.awaits_reader or issue.issue_import_id is not None:
        return "–"
    state = progress.issue_state(issue, issue.counts)
    shown = f"{arrived(issue.counts):,} of {total(issue.counts):,}"
    if state in ("paused", "cancelled"):
        shown = told(state, issue.counts)
    return list_link(Delivery, shown, issue__id__exact=issue.pk)


@admin.register(Issue)
class IssueAdmin(ReadOnlyAdmin):
    list_display = ("shown_title", "newsletter", "shown_state", "published", "posts", "reached")
    list_filter = (StateFilter, ("subscribable", asks("Of which newsletter?", RelatedFieldListFilter)))
    search_fields = ("title", "subject")
    list_select_related = ("subscribable",)
    empty = EmptyList(
        "No issues yet",
        "A newsletter’s posts become an issue when it’s due. Until then they’re in the next issue.",
        "See next issues",
        "admin:subscriptions_assignable_changelist",
    )
    list_per_page = ISSUES_PER_PAGE
    deferred = ("html", "text", "placeholders")
    scope = "subscribable"
    ordering = ("-created_at", "-pk")
    own_panels = (
        Panel("Not sent yet", issue_panels.draft, order=5),
        Panel("Result", issue_figures.progress_panel, order=10),
        Panel("Corrections", mending, order=12, asks=True),
        Panel("Posts", draft_posts, order=13, asks=True),
        Panel("Changes after posting", issue_panels.changed_later, order=17),
        Panel("Delivered over time", issue_figures.live_arrivals, order=20),
        Panel("By recipients’ domain", issue_figures.live_domains, order=25),
        Panel("Problems", issue_figures.trouble, order=30),
        Panel("Cancelled", issue_figures.why_cancelled, order=32),
        Panel("Late subscribers", issue_panels.late_subscribers_panel, order=35),
        Panel("Details", issue_panels.describe_issue, order=40),
        Panel("Email", issue_panels.letter, order=90, is_beside=True),
        Panel("The post", what_was_posted, order=90, is_beside=True),
    )
    own_actions = actions_of(issues)
    list_before_template = "admin/delivery/issues_before.html"
    shown_title = column("title", lambda issue: shortened(str(issue), LONGEST_COLUMN_TITLE), ordering="title")
    newsletter = column("newsletter", lambda issue: issue.subscribable, ordering="subscribable")
    published = column("sent", lambda issue: brief(issue.published_at, "not yet"), ordering="published_at")
    posts = column("posts", lambda issue: f"{issue.post_count:,}", ordering="post_count")
    reached = column("delivered", reached_by)
    shown_state = column("state", issue_panels.shown_issue_state, label=ISSUE_COLOURS)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show emails that are drafts or scheduled above the issues."""
        unsent = (
            drafts_and_scheduled(request.user) if request.user.has_perm("delivery.view_broadcast") else ""
        )
        ways = (
            Button(add_url(Broadcast), "Write an email"),
            Button(add_url(IssueImport), "Import old issues", is_plain=True),
        )
        added = {"unsent_emails": unsent, "ways": ways}
        return super().changelist_view(request, {**added, **(extra_context or {})})

    class Media:
        js = (Script("feedletter/issue.js", defer=True),)

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Issue]":
        every: QuerySet[Issue] = super().get_queryset(request)
        posts = count_of(IssueItem.objects.all(), "issue")
        return every.select_related("subscribable").annotate(post_count=posts)

    def look_up(self, rows: Sequence[Any]) -> None:
        super().look_up(rows)
        counts = progress.counts_of(row.pk for row in rows)
        for row in rows:
            row.counts = counts[row.pk]

    def get_urls(self) -> list[URLPattern]:
        return [
            self.own_path("<int:pk>/progress/", self.progress_view, "issue_progress"),
            self.own_path("<int:pk>/edit/", edit_draft, "issue_edit"),
            self.own_path("<int:pk>/letter/", require_POST(self.letter_view), "issue_letter"),
            self.own_path("next/<int:pk>/edit/", edit_next, "next_issue_edit"),
            self.own_path("settling/<int:pk>/edit/", edit_settling, "settling_edit"),
            *super().get_urls(),
        ]

    def letter_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Begin an email: a correction for the people who got this issue, or a copy of it."""
        require(request.user.has_perm("delivery.add_broadcast"))
        issue = get_object_or_404(self.get_queryset(request), pk=pk, published_at__isnull=False)
        author, letter = request.user.get_username(), Broadcast.objects.filter(issue=issue).first()
        if request.POST.get("do") == "copy" and letter is not None:
            begun = copy_letter(letter=letter, author=author, now=utcnow())
        else:
            begun = begin_correction(issue=issue, author=author, now=utcnow())
        return HttpResponseRedirect(object_url(begun))

    def form_beside(self, request: HttpRequest, obj: Issue) -> str:
        return EDIT_FORM if edits_words(obj, request) else ""

    def response_action(
        self, request: HttpRequest, queryset: "QuerySet[Issue]", *args: Any
    ) -> HttpResponse | None:
        """Save the draft's typed words before any action, such as approval."""
        key = request.POST.get("_on_page", "")
        issue = queryset.filter(pk=key).first() if key.isascii() and key.isdecimal() else None
        refused = save_words_of_draft(request, issue) if issue is not None else None
        return refused or super().response_action(request, queryset, *args)

    def progress_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Return progress, chart and domains. Polled during sending."""
        require(self.has_view_permission(request))
        issue = get_object_or_404(self.get_queryset(request), pk=pk)
        progress.count_for_page(issue)
        return HttpResponse(block(issue_figures.live(issue)))

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Issue | None:
        issue = super().get_object(request, object_id, from_field)
        if issue is not None and request.method == "GET":
            progress.count_for_page(issue)
        return issue
