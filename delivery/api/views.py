"""Read endpoints for issues and deliveries."""

from delivery.api.serializers import DeliverySerializer, IssueSerializer
from delivery.models import Delivery, Issue
from feeds.api.viewsets import ReadViewSet, with_filters


@with_filters(subscribable="the newsletter's name")
class IssueViewSet(ReadViewSet):
    queryset = Issue.objects.select_related("subscribable").defer("html", "text", "holes").order_by("pk")
    serializer_class = IssueSerializer
    filters = {"subscribable": "subscribable__name"}  # noqa: RUF012


@with_filters(
    issue="the issue's id",
    state="queued, sending, sent, stored, deferred, failed, held or cancelled",
    kind="issue, confirmation, welcome, sign_in, farewell, alert or test",
)
class DeliveryViewSet(ReadViewSet):
    queryset = Delivery.objects.select_related("destination").defer("context").order_by("pk")
    serializer_class = DeliverySerializer
    filters = {"issue": "issue", "state": "state", "kind": "kind"}  # noqa: RUF012
