"""Newsletters again, with the sending of their letters: pausing all of it, and going on."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from common.clock import utcnow
from delivery.api.bodies import PauseNewsletter
from delivery.issues.pause import CLICK_BUDGET, PAUSED_BY_HAND, pause_newsletter, resume_newsletter
from subscriptions.api.newsletters import SubscribableViewSet


class SendableSubscribableViewSet(SubscribableViewSet):
    bodies: ClassVar = {**SubscribableViewSet.bodies, "pause": PauseNewsletter}

    @extend_schema(summary="Pause all sending of a newsletter")
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, **_: Any) -> Response:
        """It goes on collecting posts; its issues wait. A second time changes nothing."""
        found, reason = self.get_object(), self.body().get("reason", PAUSED_BY_HAND)
        pause_newsletter(subscribable_id=found.pk, reason=reason, now=utcnow())
        return self.shown()

    @extend_schema(summary="Let a paused newsletter go on", request=None)
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, **_: Any) -> Response:
        """But for issues that are paused themselves."""
        resume_newsletter(subscribable_id=self.get_object().pk, now=utcnow(), budget=CLICK_BUDGET)
        return self.shown()
