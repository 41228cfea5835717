"""Issues and deliveries: to read, and what may be done to them."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.api.views import ResourceViewSet
from common.clock import utcnow
from delivery.api.bodies import ApproveIssue, DeliveryParameters, IssueParameters, RetryFailed
from delivery.api.serializers import DeliverySerializer, IssueSerializer, WholeDeliverySerializer
from delivery.issues import progress
from delivery.issues.approve import approve_issue, discard_issue, release_at
from delivery.issues.cards import with_words
from delivery.issues.pause import CLICK_BUDGET, cancel_issue, pause_issue, resume_issue
from delivery.issues.retry import cancel_delivery, failed_of, retry_delivery, retry_failed
from delivery.models import Delivery, Issue

RETRIED = inline_serializer(
    "Retried",
    {
        "queued": serializers.IntegerField(help_text="How many were queued again by this request."),
        "left": serializers.IntegerField(help_text="How many are left for the next: ask again."),
        "skipped": serializers.IntegerField(help_text="Suppressed, disabled, or no longer subscribed."),
    },
)


class IssueViewSet(ResourceViewSet):
    area = "sending"
    queryset = Issue.objects.select_related("subscribable").defer("html", "text", "placeholders")
    serializer_class = IssueSerializer
    parameters: ClassVar = {"list": IssueParameters}
    bodies: ClassVar = {"approve": ApproveIssue, "retry_failed": RetryFailed}
    filters: ClassVar = {"subscribable": "subscribable__name"}

    def narrowed(self, rows: "QuerySet[Any]") -> "QuerySet[Any]":
        rows = super().narrowed(rows)
        if text := self.asked.get("search"):
            # As in the archive; other lists look for a part of a text.
            rows = rows.filter(with_words(text))
        return progress.in_state(rows, self.asked["state"]) if "state" in self.asked else rows

    def paginate_queryset(self, queryset: Any) -> Any:
        """Counts the deliveries of all issues of a page by one question."""
        return with_counts(super().paginate_queryset(queryset) or [])

    def get_object(self) -> Any:
        return with_counts([super().get_object()])[0]

    @extend_schema(summary="Send a draft")
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, **_: Any) -> Response:
        """Now, or at a time. 409 if the issue is no draft."""
        at = self.body().get("at")
        if at is None:
            return self._done(lambda issue: approve_issue(issue_id=issue.pk, now=utcnow()))
        return self._done(lambda issue: release_at(issue_id=issue.pk, at=at, now=utcnow()))

    @extend_schema(summary="Pause an issue", request=None)
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, **_: Any) -> Response:
        """Deliveries that have not begun wait."""
        return self._done(lambda issue: pause_issue(issue_id=issue.pk, now=utcnow()))

    @extend_schema(summary="Resume an issue", request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, **_: Any) -> Response:
        """Its held deliveries are sent."""
        return self._done(lambda issue: resume_issue(issue_id=issue.pk, now=utcnow(), budget=CLICK_BUDGET))

    @extend_schema(summary="Cancel an issue", request=None)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, **_: Any) -> Response:
        """Deliveries that have not begun are never sent; a draft is discarded."""

        def act(issue: Issue) -> object:
            if issue.published_at is None:
                return discard_issue(issue_id=issue.pk, now=utcnow())
            return cancel_issue(issue_id=issue.pk, now=utcnow(), budget=CLICK_BUDGET)

        return self._done(act)

    @extend_schema(summary="Retry failed deliveries", responses=RETRIED)
    @action(detail=True, methods=["post"], url_path="retry-failed")
    def retry_failed(self, request: Request, **_: Any) -> Response:
        """Skips recipients that must not get mail. `left` counts the rest if one request is too short."""
        issue, domain = self.get_object(), self.body().get("domain", "").lower()
        queued = retry_failed(issue_id=issue.pk, domain=domain, now=utcnow(), budget=CLICK_BUDGET)
        progress.forget(issue.pk)
        left = failed_of(issue.pk, domain)
        return Response({"queued": queued, "left": left.retryable, "skipped": left.skipped})

    def _done(self, act: Callable[[Issue], object]) -> Response:
        issue = self.get_object()
        act(issue)
        progress.forget(issue.pk)
        return self.shown()


def with_counts(issues: list[Any]) -> list[Any]:
    counts = progress.counts_of(issue.pk for issue in issues)
    for issue in issues:
        issue.counts = counts[issue.pk]
    return issues


class DeliveryViewSet(ResourceViewSet):
    area = "sending"
    queryset = Delivery.objects.select_related("destination").defer("context")
    serializer_class = WholeDeliverySerializer
    parameters: ClassVar = {"list": DeliveryParameters}
    filters: ClassVar = {
        "issue": "issue",
        "destination": "destination",
        "subscription": "subscription",
        "state": "state",
        "kind": "kind",
    }

    def get_serializer_class(self) -> Any:
        return DeliverySerializer if self.action == "list" else WholeDeliverySerializer

    @extend_schema(summary="Retry a delivery", request=None)
    @action(detail=True, methods=["post"])
    def retry(self, request: Request, **_: Any) -> Response:
        """Queues one that failed, waits, is held or was cancelled. 409 if it is being sent, was sent, or must
        not be sent."""
        retry_delivery(delivery=self.get_object(), now=utcnow())
        return self._changed()

    @extend_schema(summary="Cancel a delivery", request=None)
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, **_: Any) -> Response:
        """It isn't sent unless it is retried. 409 if it is being sent, or has ended."""
        cancel_delivery(delivery=self.get_object())
        return self._changed()

    def _changed(self) -> Response:
        delivery = self.get_object()
        if delivery.issue_id is not None:
            progress.forget(delivery.issue_id)
        return self.shown()
