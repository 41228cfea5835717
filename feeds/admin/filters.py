from types import MappingProxyType
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from feeds.models import Feed, Item


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
        match self.value():
            case "yes":
                return queryset.filter(held)
            case "no":
                return queryset.exclude(held)
        return queryset
