"""Read endpoints for feeds and items."""

from feeds.api.serializers import FeedSerializer, ItemSerializer
from feeds.api.viewsets import ReadViewSet, with_filters
from feeds.models import Feed, Item


class FeedViewSet(ReadViewSet):
    queryset = Feed.objects.order_by("pk")
    serializer_class = FeedSerializer


@with_filters(feed="the feed's id", state="unassigned, assigned, cleared or excluded")
class ItemViewSet(ReadViewSet):
    queryset = Item.objects.defer("entry").order_by("pk")
    serializer_class = ItemSerializer
    filters = {"feed": "feed", "state": "state"}  # noqa: RUF012
