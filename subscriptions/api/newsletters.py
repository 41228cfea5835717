"""Newsletters and bridges. Pausing what they send is in delivery/api."""

from typing import Any, ClassVar

from django.core.exceptions import ValidationError
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.views import ResourceViewSet
from common.clock import utcnow
from feeds.api.bodies import ForceParameters
from feeds.models import Feed
from subscriptions.api import bodies
from subscriptions.api.rows import with_figures
from subscriptions.api.serializers import SubscribableSerializer
from subscriptions.collections.drop import drop_subscribable
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import alter_subscribable, define_subscribable


class SubscribableViewSet(ResourceViewSet):
    area = "newsletters"
    queryset = with_figures(Subscribable.objects.all())
    serializer_class = SubscribableSerializer
    lookup_field = "name"
    lookup_value_regex = "[A-Za-z0-9._-]+"
    parameters: ClassVar = {"list": bodies.SubscribableParameters, "destroy": ForceParameters}
    bodies: ClassVar = {"create": bodies.DefineSubscribable, "partial_update": bodies.ChangeSubscribable}
    filters: ClassVar = {
        "channel": "channel",
        "arrangement": "arrangement",
        "visibility": "visibility",
        "feed": "feeds",
        "stopped": "stopped",
    }
    search_in = ("name", "title")

    @extend_schema(summary="Define a newsletter or bridge", responses={201: SubscribableSerializer})
    def create(self, request: Request) -> Response:
        """409 when there is one of this name."""
        asked = self.body()
        made = define_subscribable(feeds=feeds_of(asked.pop("feeds")), **asked)
        return self.shown(made.pk, code=status.HTTP_201_CREATED)

    @extend_schema(summary="Change a newsletter or bridge")
    def partial_update(self, request: Request, **_: Any) -> Response:
        """What is being collected keeps its time."""
        asked = self.body()
        feeds = feeds_of(asked.pop("feeds")) if "feeds" in asked else None
        altered = alter_subscribable(subscribable=self.get_object(), feeds=feeds, **asked)
        return self.shown(altered.pk)

    @extend_schema(summary="Remove a newsletter or bridge")
    def destroy(self, request: Request, **_: Any) -> Response:
        """With its issues. 409, with their number, while it has subscribers; with `force` they go, too."""
        drop_subscribable(subscribable=self.get_object(), force=self.asked["force"], now=utcnow())
        return Response(status=status.HTTP_204_NO_CONTENT)


def feeds_of(keys: list[int]) -> list[Feed]:
    """The feeds of these keys, each once. Raises ValidationError."""
    found = Feed.objects.in_bulk(keys)
    if missing := [str(key) for key in keys if key not in found]:
        raise ValidationError({"feeds": f"There is no feed {', '.join(missing[:20])}."})
    return list(found.values())
