"""Read endpoints for newsletters, subscribers and destinations."""

from feeds.api.viewsets import ReadViewSet, with_filters
from subscriptions.api.serializers import (
    DestinationSerializer,
    SubscribableSerializer,
    SubscriptionSerializer,
)
from subscriptions.management.rows import with_counts, with_suppressed
from subscriptions.models import Destination, Subscribable, Subscription


class SubscribableViewSet(ReadViewSet):
    queryset = with_counts(Subscribable.objects.order_by("name"))
    serializer_class = SubscribableSerializer
    lookup_field = "name"
    lookup_value_regex = "[A-Za-z0-9._-]+"


@with_filters(
    subscribable="the newsletter's name",
    destination="the destination's id",
    status="confirmed, unconfirmed or unsubscribed",
)
class SubscriptionViewSet(ReadViewSet):
    queryset = with_suppressed(Subscription.objects.select_related("subscribable").order_by("pk"))
    serializer_class = SubscriptionSerializer
    filters = {  # noqa: RUF012
        "subscribable": "subscribable__name",
        "destination": "destination",
        "status": "status",
    }


@with_filters(kind="the channel, such as email")
class DestinationViewSet(ReadViewSet):
    queryset = Destination.objects.order_by("pk")
    serializer_class = DestinationSerializer
    filters = {"kind": "kind"}  # noqa: RUF012
