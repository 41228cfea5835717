from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from delivery.engine.send_pass import SendReport
from delivery.models import Delivery, Lane


@dataclass(frozen=True, slots=True)
class Wait:
    """`until`: the lane rests; without it each letter has its own time."""

    lane: str
    letters: int
    why: str
    until: datetime | None = None


def resting(now: datetime) -> list[Wait]:
    lanes = Lane.objects.filter(failures__gt=0, free_at__gt=now, paused=False)
    found = []
    for lane in lanes.order_by("pk"):
        letters = Delivery.objects.waiting().filter(lane=lane).count()
        if letters:
            found.append(Wait(lane.name, letters, lane.last_error, lane.free_at))
    return found


def letters_put_off(report: SendReport, rests: Sequence[Wait]) -> list[Wait]:
    """Leave out resting lanes; most first."""
    told = {(wait.lane, wait.why) for wait in rests}
    reasons = report.put_off.most_common()
    return [Wait(lane, letters, why) for (lane, why), letters in reasons if (lane, why) not in told]
