"""Newsletters again, with the sending of their letters: pausing all of it, and going on."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from channels.letter import LetterError
from common.clock import utcnow
from common.ports import channels
from common.ports.panels import CannotAct
from delivery.api.bodies import PauseNewsletter
from delivery.bridges.connect import connections_of
from delivery.bridges.trial_posts import NotDone, delete_test, post_row, post_test, standing_tests
from delivery.issues.pause import CLICK_BUDGET, PAUSED_BY_HAND, pause_newsletter, resume_newsletter
from delivery.letters.samples import NothingToShow
from subscriptions.api.newsletters import SubscribableViewSet
from subscriptions.models import Subscription


class TestPostSerializer(serializers.Serializer[Any]):
    """A test post of a bridge. `url` is where people see it, where the service says so."""

    id = serializers.IntegerField(help_text="Of its delivery.")
    destination = serializers.CharField()
    url = serializers.CharField()
    remote_id = serializers.CharField()


class SendableSubscribableViewSet(SubscribableViewSet):
    refusals = (CannotAct, NotDone, NothingToShow, LetterError)
    bodies: ClassVar = {**SubscribableViewSet.bodies, "pause": PauseNewsletter}

    @extend_schema(summary="Pause all sending of a newsletter")
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, **_: Any) -> Response:
        """It still collects posts; its issues wait. Pausing again changes nothing."""
        found, reason = self.get_object(), self.body().get("reason", PAUSED_BY_HAND)
        pause_newsletter(subscribable_id=found.pk, reason=reason, now=utcnow())
        return self.shown()

    @extend_schema(summary="Resume a newsletter", request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, **_: Any) -> Response:
        """Issues that are paused themselves stay paused."""
        resume_newsletter(subscribable_id=self.get_object().pk, now=utcnow(), budget=CLICK_BUDGET)
        return self.shown()

    @extend_schema(
        summary="Post a bridge’s newest post now", request=None, responses=TestPostSerializer(many=True)
    )
    @action(detail=True, methods=["post"], url_path="post-test")
    def post_test(self, request: Request, **_: Any) -> Response:
        """Post to all its connections. 409 for a newsletter, or with the reason if a service refuses."""
        rows = [post_test(subscription=each, now=utcnow()) for each in self.connections()]
        return Response([post_row(row) for row in rows])

    @extend_schema(
        summary="Delete a bridge’s test posts", request=None, responses=TestPostSerializer(many=True)
    )
    @action(detail=True, methods=["post"], url_path="delete-test")
    def delete_test(self, request: Request, **_: Any) -> Response:
        """Returns the posts that were deleted. 409 with the reason if a service refuses."""
        rows = [row for each in self.connections() for row in standing_tests(each)]
        for row in rows:
            delete_test(delivery=row, now=utcnow())
        return Response([post_row(row) for row in rows])

    def connections(self) -> list[Subscription]:
        """Raise CannotAct for a newsletter."""
        bridge = self.get_object()
        if channels.get(bridge.channel).public_sign_up:
            raise CannotAct(f"“{bridge}” is no bridge: it has no test posts.")
        return connections_of(bridge)
