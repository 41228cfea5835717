"""Filters and search for a million rows."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.core.cache import cache
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest

from common.access import visible_to
from common.clock import utcnow
from common.ports import channels
from subscriptions.models import Destination, Subscribable, Subscription, Suppression
from subscriptions.models.destination import AddressDomain
from subscriptions.subscribers.counts import subscriber_languages

DO_NOT_WRITE = "do not email"
STATUS_COLOURS = {
    "confirmed": "success",
    "not confirmed yet": "warning",
    "left": "danger",
    DO_NOT_WRITE: "danger",
}
IS_SUPPRESSED = Exists(Suppression.objects.filter(kind=OuterRef("kind"), core=OuterRef("core")))
DAYS = {
    "1": "in the last 24 hours",
    "7": "in the last 7 days",
    "30": "in the last 30 days",
    "365": "in a year",
}
MOST_TERMS, MOST_FOUND = 5, 1_000
LANGUAGES, REMEMBERED = "subscribers:languages", 300


def suppressed_cores(people: Iterable[Destination]) -> set[tuple[str, str]]:
    rows = Suppression.objects.filter(core__in=list({each.core for each in people}))
    return set(rows.values_list("kind", "core"))


def shown_status(subscription: Subscription, *, is_suppressed: bool) -> str:
    has_left = subscription.status == Subscription.Status.UNSUBSCRIBED
    return DO_NOT_WRITE if is_suppressed and not has_left else subscription.get_status_display()


def disabled_people() -> "QuerySet[Any, Any]":
    return Destination.objects.filter(disabled_at__isnull=False).order_by().values("pk")


def suppressed_people() -> "QuerySet[Any, Any]":
    return Destination.objects.filter(IS_SUPPRESSED).order_by().values("pk")


class ChannelFilter(SimpleListFilter):
    """Django's filter would read all rows."""

    title = "How are they reached?"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(kind.key, kind.label) for kind in channels.all_kinds()]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        return queryset.filter(kind=self.value()) if self.value() else queryset


def channel_name(kind: str) -> str:
    return next((each.label for each in channels.all_kinds() if each.key == kind), kind)


def people_found(rows: "QuerySet[Any]", text: str) -> "QuerySet[Any]":
    """Search by prefix or domain, which have indexes."""
    word = text.strip().lower()
    if not word:
        return rows
    if word.startswith("@"):
        return rows.filter(pk__in=of_domain(word))
    # `kind` is first in the index.
    return rows.filter(kind__in=[kind.key for kind in channels.all_kinds()], core__startswith=word)


def of_domain(word: str) -> "QuerySet[Any, Any]":
    """`word` begins with @."""
    rows = Destination.objects.alias(domain=AddressDomain("core"))
    return rows.filter(domain=word).order_by().values("pk")


class NewsletterFilter(SimpleListFilter):
    """Django's filter would query the whole other table."""

    title = "Which newsletter do they get?"
    parameter_name = "subscribable__id__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            (str(row.pk), str(row)) for row in visible_to(request.user, Subscribable.objects.order_by("name"))
        ]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        value = self.value()
        return queryset.filter(subscribable=value) if value and value.isdecimal() else queryset


class PersonNewsletterFilter(NewsletterFilter):
    parameter_name = "newsletter"

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        value = str(self.value() or "")
        if not value.isdecimal() or len(value) > 18:
            return queryset
        gets = Subscription.objects.confirmed().filter(destination=OuterRef("pk"), subscribable=int(value))
        return queryset.filter(Exists(gets))


class YesNoFilter(SimpleListFilter):
    yes, no = "yes", "no"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", self.yes), ("no", self.no)]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        match self.value():
            case "yes":
                return queryset.filter(self.condition())
            case "no":
                return queryset.filter(~self.condition())
        return queryset

    def condition(self) -> Q:
        raise NotImplementedError


class DisabledFilter(YesNoFilter):
    title = "Who gets no email?"
    parameter_name = "disabled"
    yes, no = "nothing is sent there", "email is sent there"

    def condition(self) -> Q:
        return Q(destination__in=disabled_people())


class PersonDisabledFilter(DisabledFilter):
    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        match self.value():
            case "yes":
                # Each half uses an index, where OR would read all rows.
                return queryset.filter(pk__in=disabled_people().union(suppressed_people(), all=True))
            case "no":
                return queryset.filter(~(Q(disabled_at__isnull=False) | Q(IS_SUPPRESSED)))
        return queryset


class SuppressedFilter(YesNoFilter):
    title = "Who must not be emailed?"
    parameter_name = "suppressed"
    yes, no = "on the Do not email list", "not on it"

    def condition(self) -> Q:
        return Q(destination__in=suppressed_people())


class PausedFilter(YesNoFilter):
    title = "Who paused?"
    parameter_name = "paused"
    yes, no = "paused for now", "not paused"

    def condition(self) -> Q:
        # NOT of a comparison with NULL is NULL.
        return Q(paused_until__isnull=False, paused_until__gt=utcnow())


class LanguageFilter(SimpleListFilter):
    title = "Which language?"
    parameter_name = "language"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(code or "-", code or "not set") for code in languages()]

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        value = self.value()
        return queryset if value is None else queryset.filter(language="" if value == "-" else value)


def languages() -> list[str]:
    """Cached: it reads all rows."""
    codes = cache.get(LANGUAGES)
    if codes is None:
        codes = subscriber_languages()
        cache.set(LANGUAGES, codes, REMEMBERED)
    return list(codes)


class AddedFilter(SimpleListFilter):
    title = "When were they added?"
    parameter_name = "added"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(DAYS.items())

    def queryset(self, request: HttpRequest, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        value = self.value()
        if value not in DAYS:
            return queryset
        return queryset.filter(added_at__gte=utcnow() - timedelta(days=int(value)))


def search(rows: "QuerySet[Any]", text: str) -> "QuerySet[Any]":
    """Searching parts of addresses would read all rows."""
    words = text.split()[:MOST_TERMS]
    if not words:
        return rows
    # A list counts and shows them, so they are searched once.
    found = rows.filter(_condition(words)).order_by("-pk").values_list("pk", flat=True)
    return rows.filter(pk__in=list(found[:MOST_FOUND]))


def _condition(words: list[str]) -> Q:
    first = words[0].lower()
    if len(words) == 1 and first.startswith("@"):
        return Q(destination__in=of_domain(first))
    names = Q()
    for word in words:
        names &= Q(display_name__icontains=word)
    if len(words) > 1:
        return names
    # `kind` is first in the index.
    known = [kind.key for kind in channels.all_kinds()]
    begun = Destination.objects.filter(kind__in=known, core__startswith=first)
    address = Q(destination__in=begun.order_by().values("pk"))
    return address if "@" in first else address | names
