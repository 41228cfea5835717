"""Filters and search of the list of people, made for a million of them."""

from collections.abc import Callable
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest

from common.ports import channels
from subscriptions.models import Subscribable, Subscription, Suppression


class PersonNewsletterFilter(SimpleListFilter):
    title = "gets the newsletter"
    parameter_name = "newsletter"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(str(row.pk), str(row)) for row in Subscribable.objects.order_by("name")]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        value = str(self.value() or "")
        if not value.isdecimal() or len(value) > 18:
            return queryset
        gets = Subscription.objects.confirmed().filter(destination=OuterRef("pk"), subscribable=int(value))
        return queryset.filter(Exists(gets))


class PersonDisabledFilter(SimpleListFilter):
    title = "does anything arrive there"
    parameter_name = "disabled"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "no: disabled or suppressed"), ("no", "yes")]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        same = Suppression.objects.filter(kind=OuterRef("kind"), core=OuterRef("core"))
        stopped = Q(disabled_at__isnull=False) | Q(Exists(same))
        match self.value():
            case "yes":
                return queryset.filter(stopped)
            case "no":
                return queryset.filter(~stopped)
        return queryset


class ChannelFilter(SimpleListFilter):
    """As Django's own filter, without reading all rows for the channels they have."""

    title = "channel"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind.key, kind.label) for kind in channels.all_kinds()]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        return queryset.filter(kind=self.value()) if self.value() else queryset


def people_found(
    rows: "QuerySet[Any]", text: str, newest: Callable[["QuerySet[Any]"], "QuerySet[Any]"]
) -> "QuerySet[Any]":
    """An address from its beginning, by the index; a domain from its @, among the newest."""
    word = text.strip().lower()
    if not word:
        return rows
    if word.startswith("@"):
        return newest(rows).filter(core__endswith=word)
    # With the kind, because that comes first in the index.
    return rows.filter(kind__in=[kind.key for kind in channels.all_kinds()], core__startswith=word)
