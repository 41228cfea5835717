"""Channels, and the fields that each asks for."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from common.api.problems import InvalidRequest
from common.api.views import ApiView
from common.ports import channels
from common.ports.channels import InvalidDestination
from delivery.api.bodies import CheckDestination
from subscriptions.api.subscribers import at_its_field
from subscriptions.models import Subscribable


class FieldSerializer(serializers.Serializer[channels.Field]):
    """`secret`: it is never shown again."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    help = serializers.CharField()
    required = serializers.BooleanField()  # type: ignore[assignment]
    secret = serializers.BooleanField()


class ChannelSerializer(serializers.Serializer[channels.ChannelSpec]):
    """`public_sign_up`: readers subscribe to it themselves. Without it, it is for bridges."""

    key = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    sentence = serializers.CharField()
    public_sign_up = serializers.BooleanField()
    arrangements = serializers.SerializerMethodField()
    destination_fields = FieldSerializer(many=True)
    option_fields = FieldSerializer(many=True)

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_arrangements(self, spec: channels.ChannelSpec) -> list[str]:
        return sorted(spec.arrangements)


class CheckedDestinationSerializer(serializers.Serializer[Any]):
    """How the service calls it."""

    channel = serializers.CharField()
    destination = serializers.CharField()


class ChannelViewSet(ApiView, GenericViewSet[Any]):
    area = "newsletters"
    # Permissions are those on newsletters.
    queryset = Subscribable.objects.none()
    serializer_class = ChannelSerializer
    pagination_class = None
    bodies: ClassVar = {"check": CheckDestination}

    @extend_schema(summary="All channels", responses=ChannelSerializer(many=True))
    def list(self, request: Request) -> Response:
        """On one page."""
        every: Any = channels.all_kinds()
        return Response(ChannelSerializer(every, many=True).data)

    @extend_schema(summary="Ask a service about a destination", responses=CheckedDestinationSerializer)
    @action(detail=False, methods=["post"])
    def check(self, request: Request) -> Response:
        """Nothing is kept or posted. 422 with what the service says against it."""
        asked = self.body()
        try:
            kind = channels.get(asked["channel"])
        except InvalidDestination as error:
            raise InvalidRequest({"channel": [str(error)]}) from error
        try:
            parsed = kind.check(kind.parse_destination(asked["to"]))
        except InvalidDestination as error:
            raise InvalidRequest({"to": at_its_field(str(error), asked["to"])}) from error
        return Response({"channel": kind.key, "destination": parsed.label})
