"""Feeds and posts, with the actions that concern newsletters: dropping a feed, and excluding a post."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.problems import Conflict
from common.clock import utcnow
from feeds.api.bodies import ExcludeItem, FeedParameters, ForceParameters, ItemParameters
from feeds.api.views import FeedViewSet, ItemViewSet
from feeds.models import Item
from subscriptions.collections.drop import drop_feed
from subscriptions.collections.exclude import EXCLUDED_BY_HAND, exclude

LATER = inline_serializer("DroppedLater", {"detail": serializers.CharField()})


class DroppableFeedViewSet(FeedViewSet):
    parameters: ClassVar = {"list": FeedParameters, "destroy": ForceParameters}

    @extend_schema(summary="Remove a feed", responses={202: LATER, 204: None})
    def destroy(self, request: Request, **_: object) -> Response:
        """409, with their number, while posts of it are still to be sent. With `force` it is read no more and
        goes once they went out (202)."""
        feed = self.get_object()
        said = drop_feed(feed=feed, force=self.asked["force"], now=utcnow())
        if self.get_queryset().filter(pk=feed.pk).exists():
            return Response({"detail": said}, status=status.HTTP_202_ACCEPTED)
        return Response(status=status.HTTP_204_NO_CONTENT)


class ExcludableItemViewSet(ItemViewSet):
    parameters: ClassVar = {"list": ItemParameters}
    bodies: ClassVar = {"exclude": ExcludeItem}

    @extend_schema(summary="Exclude a post")
    @action(detail=True, methods=["post"])
    def exclude(self, request: Request, **_: object) -> Response:
        """It is taken out of what is being collected. 409 when it is on its way already. A second time
        changes nothing."""
        item, reason = self.get_object(), self.body().get("reason", EXCLUDED_BY_HAND)
        if item.state != Item.State.EXCLUDED and not exclude(item_id=item.pk, reason=reason):
            raise Conflict(f"“{item}” has gone out, or is on its way.")
        return self.shown()
