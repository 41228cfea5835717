"""Admin of next issues."""

from typing import Any

from django.contrib import admin
from django.contrib.admin import RelatedFieldListFilter
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from common.admin.html import column, when
from common.admin.lists import asks
from common.admin.model_admin import ReadOnlyAdmin
from common.admin.page_words import EmptyList
from common.clock import utcnow
from common.db.bulk import count_of
from common.ports.panels import Action, Panel
from common.text import pluralize
from subscriptions.admin_words import collection_name, next_issue_title, waits_for
from subscriptions.models import Assignable, Assignment


def when_it_goes_out(assignable: Assignable) -> str:
    sentence = waits_for(assignable)
    if assignable.failures:
        at = when(assignable.next_try_at, zone=assignable.subscribable.zone)
        sentence = f"{sentence} Next try: {at}."
    return sentence


def try_now(request: HttpRequest, keys: list[int]) -> str:
    failed = Assignable.objects.filter(pk__in=keys, seal_token=None, failures__gt=0)
    count = failed.update(next_try_at=utcnow())
    return f"We’ll try {pluralize(count, 'issue')} again within moments."


@admin.register(Assignable)
class AssignableAdmin(ReadOnlyAdmin):
    list_display = ("newsletter", "shown_name", "posts", "goes_out")
    list_filter = (("subscribable", asks("Of which newsletter?", RelatedFieldListFilter)),)
    empty = EmptyList(
        "No next issue yet",
        "The next issue starts with the first post that settles and is sent on the newsletter’s schedule.",
        "See which posts are settling",
        "admin:feeds_item_changelist",
    )
    list_per_page = 50
    scope = "subscribable"
    own_panels = (Panel("Schedule", when_it_goes_out, order=10),)
    own_actions = (Action("try_now", "Try again now", try_now, fits=lambda row: row.failures > 0),)
    newsletter = column("newsletter", lambda assignable: assignable.subscribable, ordering="subscribable")
    shown_name = column("posts from", collection_name, ordering="opened_at")
    posts = column("posts", lambda assignable: f"{assignable.held:,}", ordering="held")
    goes_out = column("when it’s sent", waits_for, ordering="period_end")

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        if (assignable := context.get("original")) is not None:
            context["heading"] = context["title"] = next_issue_title(assignable, now=utcnow())
        return super().render_change_form(request, context, *args, **kwargs)

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Assignable]":
        every: QuerySet[Assignable] = super().get_queryset(request)
        rows = every.annotate(held=count_of(Assignment.objects.kept(), "assignable"))
        return rows.select_related("subscribable").prefetch_related("subscribable__feeds")
