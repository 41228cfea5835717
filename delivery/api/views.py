"""Endpoints for issues and deliveries: to read, and for issues to approve, pause, resume and cancel."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.exceptions import APIException
from rest_framework.permissions import BasePermission, IsAdminUser
from rest_framework.request import Request
from rest_framework.response import Response

from common.clock import utcnow
from common.panels import CannotAct
from delivery.api.serializers import ApprovalSerializer, DeliverySerializer, IssueSerializer
from delivery.models import Delivery, Issue
from delivery.services import progress
from delivery.services.approving import approve_issue, discard_issue, release_at
from delivery.services.pausing import AT_ONCE, cancel_issue, pause_issue, resume_issue
from feeds.api.viewsets import ReadViewSet, with_filters

REFUSED = OpenApiResponse(description="It cannot be done as things are; the sentence says why.")


class Conflict(APIException):
    status_code = status.HTTP_409_CONFLICT
    default_code = "conflict"


class MayChangeIssues(BasePermission):
    """Who may do it in the admin."""

    def has_permission(self, request: Request, view: Any) -> bool:
        return request.user.has_perm("delivery.change_issue")


def acting(summary: str, body: Any = None) -> Callable[[Any], Any]:
    """A POST on one issue, with what the schema says of it."""

    def decorate(method: Any) -> Any:
        described = extend_schema(
            summary=summary, request=body, responses={200: IssueSerializer, 409: REFUSED}
        )
        routed = action(detail=True, methods=["post"], permission_classes=[IsAdminUser, MayChangeIssues])
        return described(routed(method))

    return decorate


@with_filters(subscribable="the newsletter's name")
class IssueViewSet(ReadViewSet):
    queryset = Issue.objects.select_related("subscribable").defer("html", "text", "holes").order_by("pk")
    serializer_class = IssueSerializer
    filters = {"subscribable": "subscribable__name"}  # noqa: RUF012

    def paginate_queryset(self, queryset: Any) -> Any:
        """Counts the deliveries of all issues of a page by one question."""
        return counted(super().paginate_queryset(queryset) or [])

    def get_object(self) -> Any:
        return counted([super().get_object()])[0]

    @acting("Let a draft go, now or at a time", ApprovalSerializer)
    def approve(self, request: Request, pk: str) -> Response:
        asked = ApprovalSerializer(data=request.data)
        asked.is_valid(raise_exception=True)
        at = asked.validated_data.get("at")
        if at is None:
            return self._done(lambda issue: approve_issue(issue_id=issue.pk, now=utcnow()))
        return self._done(lambda issue: release_at(issue_id=issue.pk, at=at, now=utcnow()))

    @acting("Let what is not on its way yet wait")
    def pause(self, request: Request, pk: str) -> Response:
        return self._done(lambda issue: pause_issue(issue_id=issue.pk, now=utcnow()))

    @acting("Let a paused issue go on")
    def resume(self, request: Request, pk: str) -> Response:
        return self._done(lambda issue: resume_issue(issue_id=issue.pk, now=utcnow(), budget=AT_ONCE))

    @acting("Cancel the rest of an issue, or discard a draft")
    def cancel(self, request: Request, pk: str) -> Response:
        def act(issue: Issue) -> object:
            if issue.published_at is None:
                return discard_issue(issue_id=issue.pk, now=utcnow())
            return cancel_issue(issue_id=issue.pk, now=utcnow(), budget=AT_ONCE)

        return self._done(act)

    def _done(self, act: Callable[[Issue], object]) -> Response:
        issue = self.get_object()
        try:
            act(issue)
        except CannotAct as error:
            raise Conflict(str(error)) from error
        progress.forget(issue.pk)
        return Response(self.get_serializer(self.get_object()).data)


def counted(issues: list[Any]) -> list[Any]:
    counts = progress.counts_of(issue.pk for issue in issues)
    for issue in issues:
        issue.counts = counts[issue.pk]
    return issues


@with_filters(
    issue="the issue's id",
    state="queued, sending, sent, stored, deferred, failed, held or cancelled",
    kind="issue, confirmation, welcome, sign_in, farewell, alert or test",
)
class DeliveryViewSet(ReadViewSet):
    queryset = Delivery.objects.select_related("destination").defer("context").order_by("pk")
    serializer_class = DeliverySerializer
    filters = {"issue": "issue", "state": "state", "kind": "kind"}  # noqa: RUF012
