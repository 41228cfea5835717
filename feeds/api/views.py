"""Read endpoints for feeds and items."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.exceptions import ValidationError

from feeds.api.serializers import FeedSerializer, ItemSerializer
from feeds.api.viewsets import ReadViewSet, with_filters
from feeds.models import Feed, Item
from feeds.querysets import HEALTH
from feeds.services.tagging import feeds_tagged


@with_filters(tag="a tag’s name", status="active, failing, paused, stopped or held")
class FeedViewSet(ReadViewSet):
    queryset = Feed.objects.order_by("pk").prefetch_related("tags")
    serializer_class = FeedSerializer

    def filter_queryset(self, queryset: "QuerySet[Any]") -> "QuerySet[Any]":
        given = self.request.query_params
        feeds: Any = super().filter_queryset(queryset)
        if name := given.get("tag"):
            feeds = feeds_tagged(feeds, name)
        if word := given.get("status"):
            if word not in HEALTH:
                raise ValidationError({"status": f"Give one of {', '.join(HEALTH)}."})
            feeds = feeds.in_health(word)
        found: QuerySet[Any] = feeds
        return found


@with_filters(feed="the feed's id", state="unassigned, assigned, cleared or excluded")
class ItemViewSet(ReadViewSet):
    queryset = Item.objects.defer("entry").order_by("pk")
    serializer_class = ItemSerializer
    filters = {"feed": "feed", "state": "state"}  # noqa: RUF012
