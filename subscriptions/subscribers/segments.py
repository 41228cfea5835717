"""Who of some newsletters' subscribers is in a segment."""

from collections.abc import Collection

from django.db.models import Exists, OuterRef

from subscriptions.models import SubscriberTag, Subscription, Tagging
from subscriptions.models.subscription import SubscriptionQuerySet
from subscriptions.rules.tags import Segment


def subscribers_in(segment: Segment, *, newsletters: Collection[int]) -> SubscriptionQuerySet:
    """The confirmed subscriptions of these newsletters (their keys) whose people have the segment's tags.

    Disabled addresses are among them: whoever sends asks for `.reachable()` besides, as for every issue.
    Of one newsletter each person is there once.
    """
    rows = Subscription.objects.confirmed().filter(subscribable__in=newsletters)
    if segment.any_of:
        rows = rows.filter(_have(segment.any_of))
    for key in sorted(segment.all_of):
        rows = rows.filter(_have({key}))
    if segment.none_of:
        rows = rows.filter(~_have(segment.none_of))
    return rows


def _have(keys: Collection[str]) -> Exists:
    # A join would name somebody once for every tag, and NOT IN reads all taggings for each row. By the tags'
    # own keys, of which the database knows how many people have each.
    tags = list(SubscriberTag.objects.filter(key__in=keys).order_by("pk").values_list("pk", flat=True))
    return Exists(Tagging.objects.filter(destination=OuterRef("destination"), tag__in=tags))
