"""Filters and search of the list of people, made for a million of them."""

from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest

from common.admin.lists import newest
from common.ports import channels
from subscriptions.models import Destination, Subscribable, Subscription, Suppression

IS_SUPPRESSED = Exists(Suppression.objects.filter(kind=OuterRef("kind"), core=OuterRef("core")))


def disabled_people() -> "QuerySet[Any, Any]":
    """The keys of addresses at which nothing arrived any more."""
    return Destination.objects.filter(disabled_at__isnull=False).order_by().values("pk")


def suppressed_people() -> "QuerySet[Any, Any]":
    """The keys of addresses that are on the list “Do not write”."""
    return Destination.objects.filter(IS_SUPPRESSED).order_by().values("pk")


class PersonNewsletterFilter(SimpleListFilter):
    title = "Which newsletter do they get?"
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
    title = "Who stopped getting mail?"
    parameter_name = "disabled"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", "stopped: nothing is sent there"), ("no", "mail goes there")]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        match self.value():
            case "yes":
                # Few of very many: each half by its own index, where OR would read everybody.
                return queryset.filter(pk__in=disabled_people().union(suppressed_people(), all=True))
            case "no":
                return queryset.filter(~(Q(disabled_at__isnull=False) | Q(IS_SUPPRESSED)))
        return queryset


class ChannelFilter(SimpleListFilter):
    """As Django's own filter, without reading all rows for the channels they have."""

    title = "How are they reached?"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind.key, kind.label) for kind in channels.all_kinds()]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        return queryset.filter(kind=self.value()) if self.value() else queryset


def channel_name(kind: str) -> str:
    """A channel as people call it; one that is no longer there by its key."""
    return next((each.label for each in channels.all_kinds() if each.key == kind), kind)


def people_found(rows: "QuerySet[Any]", text: str) -> "QuerySet[Any]":
    """An address from its beginning, by the index; a domain from its @, among the newest."""
    word = text.strip().lower()
    if not word:
        return rows
    if word.startswith("@"):
        return newest(rows).filter(core__endswith=word)
    # With the kind, because that comes first in the index.
    return rows.filter(kind__in=[kind.key for kind in channels.all_kinds()], core__startswith=word)
