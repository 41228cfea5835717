"""Who of a newsletter's subscribers is in a segment."""

from typing import cast

from subscriptions.models import Subscribable, Subscription, Tagging
from subscriptions.models.subscription import SubscriptionQuerySet
from subscriptions.rules.tags import Segment


def subscribers_in(segment: Segment, *, subscribable: Subscribable) -> SubscriptionQuerySet:
    """The newsletter's confirmed subscriptions whose people have the segment's tags, each person once.

    Disabled addresses are among them: whoever sends asks for `.reachable()` besides, as for every issue.
    """
    rows = Subscription.objects.confirmed().filter(subscribable=subscribable)
    tagged = Tagging.objects.order_by().values("destination")
    # Each tag by a subquery of its own: a join would name somebody once for every tag.
    if segment.any_of:
        rows = rows.filter(destination__in=tagged.filter(tag__key__in=sorted(segment.any_of)))
    for key in sorted(segment.all_of):
        rows = rows.filter(destination__in=tagged.filter(tag__key=key))
    if segment.none_of:
        rows = rows.exclude(destination__in=tagged.filter(tag__key__in=sorted(segment.none_of)))
    return cast(SubscriptionQuerySet, rows)
