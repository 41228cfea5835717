"""Addresses and accounts, and erasing a person."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.views import ResourceViewSet
from common.clock import utcnow
from subscriptions.api import bodies
from subscriptions.api.rows import core_of
from subscriptions.api.serializers import DestinationSerializer
from subscriptions.models import Destination
from subscriptions.privacy.erase import erase
from subscriptions.subscribers.suppression import DISABLED_BY_HAND, disable, enable


class DestinationViewSet(ResourceViewSet):
    area = "subscribers"
    # Erased ones belong to nobody; they stay only for the ledger.
    queryset = Destination.objects.filter(erased_at=None)
    serializer_class = DestinationSerializer
    made_at = "added_at"
    parameters: ClassVar = {"list": bodies.DestinationParameters}
    bodies: ClassVar = {"disable": bodies.DisableDestination}
    filters: ClassVar = {"kind": "kind"}
    search_in = ("core", "label")

    def narrowed(self, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        rows = super().narrowed(rows)
        if "address" in self.asked:
            rows = rows.filter(kind="email", core=core_of(self.asked["address"]))
        if "disabled" in self.asked:
            rows = rows.filter(disabled_at__isnull=not self.asked["disabled"])
        return rows

    @extend_schema(summary="Erase a person")
    def destroy(self, request: Request, **_: Any) -> Response:
        """All that is held about this address goes, its subscriptions included. It cannot be taken back."""
        erase(destination=self.get_object(), now=utcnow())
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(summary="Send nothing there")
    @action(detail=True, methods=["post"])
    def disable(self, request: Request, **_: Any) -> Response:
        """Its subscriptions stay. The first reason is kept."""
        disable(
            destination=self.get_object(), reason=self.body().get("reason", DISABLED_BY_HAND), now=utcnow()
        )
        return self.shown()

    @extend_schema(summary="Send there again", request=None)
    @action(detail=True, methods=["post"])
    def enable(self, request: Request, **_: Any) -> Response:
        """What was disabled by hand, or because nothing arrived. A suppression stays."""
        enable(destination=self.get_object())
        return self.shown()
