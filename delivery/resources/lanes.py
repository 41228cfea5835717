"""Lanes: what can be done with them in the admin. The command is “alter_lane”."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from django.db.models import Q, QuerySet

from channels.account import EMAIL
from common.clock import utcnow
from common.resources import ADMIN, Argument, Resource, verb
from common.text import pluralize
from delivery.issues.pause import PAUSED_BY_HAND
from delivery.lanes.limits import pause_domain, pause_lanes, recipient_domain, resume_domain, resume_lanes
from delivery.models import Lane, LaneDomain


def stopped_domains(lanes: Sequence[Lane]) -> list[tuple[str, str]]:
    """Return domains that are paused, or resting after refusals, as choices."""
    stopped = Q(paused=True) | Q(refused_since__isnull=False, free_at__gt=utcnow())
    names = LaneDomain.objects.filter(stopped, lane__in=lanes).values_list("domain", flat=True)
    return [(name, name) for name in sorted(set(names))]


class Lanes(Resource[Lane]):
    noun = "lane"

    def rows(self) -> "QuerySet[Lane]":
        return Lane.objects.all()

    @verb("Pause", on=(ADMIN,), fits=lambda lane: not lane.paused)
    def pause(self, lane: Lane) -> str:
        pause_lanes(lane_ids=[lane.pk], reason=PAUSED_BY_HAND)
        return f"{lane} is paused. Nothing is sent there until you resume."

    @verb("Resume", on=(ADMIN,), fits=lambda lane: lane.paused or lane.free_at)
    def resume(self, lane: Lane, *, now: datetime) -> str:
        resume_lanes(lane_ids=[lane.pk], now=now)
        return f"{lane} can send again."

    @verb(
        "Pause a domain",
        on=(ADMIN,),
        fits=lambda lane: lane.kind == EMAIL,
        asks=lambda lanes: ["Deliveries to this domain wait until you resume it. Other deliveries continue."],
    )
    def pause_domain(
        self,
        lane: Lane,
        *,
        domain: Annotated[str, Argument("The part after the @, for example gmail.com.")],
        reason: Annotated[
            str,
            Argument(
                "Shown to others, for example “They block us. We filled in their form on Monday.”",
                longest=500,
            ),
        ] = "",
        now: datetime,
    ) -> str:
        domain = recipient_domain(domain)
        if pause_domain(lane_id=lane.pk, domain=domain, reason=reason or PAUSED_BY_HAND, now=now):
            return f"Nothing is sent to {domain} until you resume it."
        return f"{domain} was paused already."

    @verb(
        "Resume a domain",
        on=(ADMIN,),
        fits=lambda lane: bool(stopped_domains([lane])),
        asks=lambda lanes: ["Waiting deliveries to it are sent within the lane’s limits."],
    )
    def resume_domain(
        self, lane: Lane, *, domain: Annotated[str, Argument("", choices=stopped_domains)], now: datetime
    ) -> str:
        queued = resume_domain(lane_id=lane.pk, domain=domain, now=now)
        return f"{domain} resumed; {pluralize(queued, 'delivery', 'deliveries')} queued."


lanes = Lanes()
