"""Who of a newsletter's subscribers is in a segment."""

from collections.abc import Collection

from django.db.models import Exists, OuterRef

from subscriptions.models import Subscribable, Subscription, Tagging
from subscriptions.models.subscription import SubscriptionQuerySet
from subscriptions.rules.tags import Segment


def subscribers_in(segment: Segment, *, subscribable: Subscribable) -> SubscriptionQuerySet:
    """The newsletter's confirmed subscriptions whose people have the segment's tags, each person once.

    Disabled addresses are among them: whoever sends asks for `.reachable()` besides, as for every issue.
    """
    rows = Subscription.objects.confirmed().filter(subscribable=subscribable)
    if segment.any_of:
        rows = rows.filter(_have(segment.any_of))
    for key in sorted(segment.all_of):
        rows = rows.filter(_have({key}))
    if segment.none_of:
        rows = rows.filter(~_have(segment.none_of))
    return rows


def _have(keys: Collection[str]) -> Exists:
    # A join would name somebody once for every tag, and NOT IN reads all taggings for each row.
    return Exists(Tagging.objects.filter(destination=OuterRef("destination"), tag__key__in=sorted(keys)))
