"""Bounces: what a person decides about the held ones."""

from datetime import datetime

from django.db.models import QuerySet

from common.ports.panels import CannotAct
from common.resources import ADMIN, Resource, verb
from delivery.bounces.record import release_bounces
from delivery.models import Bounce


class Bounces(Resource[Bounce]):
    noun = "bounce"

    def rows(self) -> "QuerySet[Bounce]":
        return Bounce.objects.select_related("destination")

    @verb("Stop sending to held addresses", on=(ADMIN,), fits=lambda bounce: bounce.held)
    def suppress_held(self, bounce: Bounce, *, now: datetime) -> str:
        self.release(bounce, suppressing=True, now=now)
        return "The address won’t be emailed any more."

    @verb("Keep sending to held addresses", on=(ADMIN,), fits=lambda bounce: bounce.held)
    def let_be(self, bounce: Bounce, *, now: datetime) -> str:
        self.release(bounce, suppressing=False, now=now)
        return "Ignored. We keep sending there."

    def release(self, bounce: Bounce, *, suppressing: bool, now: datetime) -> None:
        if not release_bounces(bounces=[bounce], suppressing=suppressing, now=now):
            raise CannotAct("This bounce isn’t held, so there’s nothing to decide.")


bounces = Bounces()
