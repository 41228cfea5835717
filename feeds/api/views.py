"""Feeds and items. Actions that touch newsletters are in subscriptions/api."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.problems import Conflict
from common.api.resources import ResourceViewSet
from common.clock import utcnow
from common.resources import Resource
from feeds.adding.add import add_feed, alter_feed, feed_at
from feeds.api.bodies import AddFeed, ChangeFeed, DecideOnHeld
from feeds.api.serializers import FeedSerializer, ItemSerializer
from feeds.items.held import exclude_held, release
from feeds.models import Feed
from feeds.polling.poll import request_poll
from feeds.resources import feeds, items


class FeedViewSet(ResourceViewSet):
    area = "feeds"
    resource: ClassVar[Resource[Any]] = feeds
    queryset = Feed.objects.prefetch_related("tags")
    serializer_class = FeedSerializer
    bodies: ClassVar = {"create": AddFeed, "partial_update": ChangeFeed, "held": DecideOnHeld}

    @extend_schema(summary="Add a feed", responses={201: FeedSerializer})
    def create(self, request: Request) -> Response:
        """It is read within moments; whether that worked is in `last_error` then. 409 when there is a feed of
        this address already."""
        asked = self.body()
        if (there := feed_at(asked["url"])) is not None:
            raise Conflict(f"Feed {there.pk} has this address already: {self.address_of(there)}")
        return self.shown(add_feed(now=utcnow(), **asked).pk, code=status.HTTP_201_CREATED)

    @extend_schema(summary="Change a feed")
    def partial_update(self, request: Request, **_: Any) -> Response:
        """Its posts stay. `tags` are replaced. At a new address, only what comes from then on is sent."""
        alter_feed(feed=self.get_object(), **self.body())
        return self.shown()

    @extend_schema(summary="Read a feed soon", request=None, responses={202: FeedSerializer})
    @action(detail=True, methods=["post"])
    def poll(self, request: Request, **_: Any) -> Response:
        """Makes it due now. One that is failing keeps its back-off."""
        request_poll(feed_ids=[self.get_object().pk], now=utcnow())
        return self.shown(code=status.HTTP_202_ACCEPTED)

    @extend_schema(summary="Decide on held posts")
    @action(detail=True, methods=["post"])
    def held(self, request: Request, **_: Any) -> Response:
        """For a feed that brought many posts at once. Without held posts nothing changes."""
        act = release if self.body()["decision"] == "send" else exclude_held
        act(feed_ids=[self.get_object().pk], now=utcnow())
        return self.shown()


class ItemViewSet(ResourceViewSet):
    area = "feeds"
    resource = items
    serializer_class = ItemSerializer
