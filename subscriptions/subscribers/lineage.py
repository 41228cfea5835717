"""A subscription and those it was switched to. Leaving and pausing affect all."""

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from subscriptions.models import FrequencyChange, Subscription

MOST_SWITCHES = 20


def lineage_of(subscription: Subscription) -> set[int]:
    """Return keys of it and its successors, and of both sides of a pending switch.

    Excludes subscriptions that existed before a switch.
    """
    keys = {subscription.pk}
    switches = FrequencyChange.objects.filter(was_there=False).order_by()
    for _ in range(MOST_SWITCHES):
        under_way = switches.filter(Q(old__in=keys) | Q(new__in=keys), settled_at=None)
        pairs = under_way.values_list("old", "new").union(switches_that_ended(keys).values_list("old", "new"))
        further = keys | {key for pair in pairs for key in pair}
        if further == keys:
            break
        keys = further
    return keys


def switches_that_ended(keys: set[int]) -> "QuerySet[FrequencyChange]":
    """Return switches that ended these, unless they were restored."""
    ended = Coalesce("old__ended_at", "old__left_at")
    gone = FrequencyChange.objects.annotate(ended=ended).filter(old__in=keys, settled_at=F("ended"))
    return gone.filter(Q(old__status="unsubscribed") | Q(old__ended_at__isnull=False)).order_by()


def successor(subscription: Subscription) -> Subscription | None:
    if subscription.status == "confirmed" and subscription.ended_at is None:
        return None
    rows = (
        Subscription.objects.confirmed().filter(pk__in=lineage_of(subscription)).exclude(pk=subscription.pk)
    )
    return rows.select_related("subscribable", "destination").order_by("pk").last()


def predecessors(subscription: Subscription) -> set[int]:
    """Return keys of earlier subscriptions, to which links in older letters belong."""
    keys = {subscription.pk}
    for _ in range(MOST_SWITCHES):
        olds = set(
            FrequencyChange.objects.filter(new__in=keys, was_there=False).values_list("old", flat=True)
        )
        if olds <= keys:
            break
        keys |= olds
    return keys - {subscription.pk}
