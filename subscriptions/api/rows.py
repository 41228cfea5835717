"""Figures for lists of newsletters, without joining these to very many subscribers."""

from django.db.models import Count, IntegerField, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from common.ports import channels
from common.ports.channels import InvalidDestination
from subscriptions.models import Assignable, Subscribable, Subscription


def with_figures(rows: "QuerySet[Subscribable]") -> "QuerySet[Subscribable]":
    """Annotates confirmed subscribers, open collections, and when the next of these closes."""
    confirmed = Subscription.objects.confirmed()
    closes = Assignable.objects.filter(subscribable=OuterRef("pk")).order_by().values("subscribable")
    return rows.annotate(
        subscribers=_count(confirmed),
        open=_count(Assignable.objects.all()),
        closes=Subquery(closes.annotate(first=Min("period_end")).values("first")),
    ).prefetch_related("feeds")


def _count(related: "QuerySet[Subscription] | QuerySet[Assignable]") -> Coalesce:
    own = related.filter(subscribable=OuterRef("pk")).order_by().values("subscribable")
    return Coalesce(Subquery(own.annotate(n=Count("pk")).values("n"), output_field=IntegerField()), 0)


def core_of(address: str) -> str:
    """The form in which an e-mail address is stored, to find it by the index; "" for anything else."""
    try:
        return channels.get("email").parse_destination({"email": address}).core
    except InvalidDestination:
        return ""
