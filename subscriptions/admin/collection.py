from typing import Any

from django.contrib import admin
from django.contrib.admin import RelatedFieldListFilter
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from common.admin.flows import asks
from common.admin.html import facts, link_to, when
from common.admin.model_admin import ReadOnlyAdmin, count_of
from common.admin.page_words import EmptyList
from common.clock import utcnow
from common.ports.panels import Action, Panel
from common.text import pluralize
from subscriptions.admin_words import collection_name, waits_for
from subscriptions.models import Assignable, Assignment


def when_it_goes_out(assignable: Assignable) -> SafeString:
    zone = assignable.subscribable.zone
    rows = [
        ("When it goes out", waits_for(assignable)),
        ("Newsletter", link_to(assignable.subscribable)),
        ("Opened", when(assignable.opened_at, zone=zone)),
    ]
    if assignable.period_start and assignable.period_end:
        rows += [
            ("Takes posts that settle from", when(assignable.period_start, zone=zone)),
            ("and before", when(assignable.period_end, zone=zone)),
        ]
    if assignable.failures:
        rows.append(("Tried again", when(assignable.next_try_at, zone=zone)))
    return facts(rows)


def try_now(request: HttpRequest, keys: list[int]) -> str:
    failed = Assignable.objects.filter(pk__in=keys, seal_token=None, failures__gt=0)
    count = failed.update(next_try_at=utcnow())
    return f"{pluralize(count, 'collection')} that failed will be tried again within moments."


@admin.register(Assignable)
class AssignableAdmin(ReadOnlyAdmin):
    list_display = ("newsletter", "shown_name", "posts", "goes_out")
    list_filter = (("subscribable", asks("Of which newsletter?", RelatedFieldListFilter)),)
    empty = EmptyList(
        "Nothing is being collected",
        "A collection opens with its first post that has settled, and goes out at its newsletter’s time.",
        "See which posts are settling",
        "admin:feeds_item_changelist",
        "feeds.view_item",
    )
    list_per_page = 50
    own_panels = (Panel("When it goes out", when_it_goes_out, order=10),)
    own_actions = (Action("try_now", "Try again now", try_now, fits=lambda row: row.failures > 0),)

    def get_queryset(self, request: HttpRequest) -> "QuerySet[Assignable]":
        every: QuerySet[Assignable] = super().get_queryset(request)
        pluralize = every.annotate(held=count_of(Assignment.objects.kept(), "assignable"))
        return pluralize.select_related("subscribable").prefetch_related("subscribable__feeds")

    @display(description="newsletter", ordering="subscribable")
    def newsletter(self, assignable: Assignable) -> str:
        return str(assignable.subscribable)

    @display(description="collection", ordering="opened_at")
    def shown_name(self, assignable: Assignable) -> str:
        return collection_name(assignable)

    @display(description="posts", ordering="held")
    def posts(self, assignable: Any) -> str:
        return f"{assignable.held:,}"

    @display(description="when it goes out", ordering="period_end")
    def goes_out(self, assignable: Assignable) -> str:
        return waits_for(assignable)
