"""What of a lane and its domains was used, by the minute: the counts behind the windows of hour and day."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.db.models import F, Q, Sum

from delivery.models import Lane, LaneUse
from delivery.rules.limits import Used
from delivery.rules.windows import DAY, HOUR, Uses, counted_after, minute_of

# The lane's own sum stands under this name.
WHOLE = ""
KEPT = timedelta(hours=25)


def windows(lane: Lane, domains: Iterable[str], now: datetime) -> dict[str, Used]:
    """The sums of hour and day for those domains (WHOLE: the lane), by one query."""
    rows = LaneUse.objects.filter(lane=lane, domain__in=list(domains), minute__gt=counted_after(now, DAY))
    hour = Sum("count", filter=Q(minute__gt=counted_after(now, HOUR)), default=0)
    sums = rows.values_list("domain").annotate(hour=hour, day=Sum("count"))
    return {domain: Used(hour=hour, day=day) for domain, hour, day in sums}


def minutes(lane: Lane, domain: str, now: datetime) -> Uses:
    """Each minute of the last 24 hours with its count."""
    rows = LaneUse.objects.filter(lane=lane, domain=domain, minute__gt=counted_after(now, DAY))
    return list(rows.order_by("minute").values_list("minute", "count"))


def count(lane: Lane, taken: Mapping[str, int], now: datetime) -> None:
    """Adds to this minute's counts; the caller holds the lane's lock. Prunes once a minute."""
    minute = minute_of(now)
    for domain, number in sorted(taken.items()):
        row = LaneUse.objects.filter(lane=lane, domain=domain, minute=minute)
        if not row.update(count=F("count") + number):
            LaneUse.objects.create(lane=lane, domain=domain, minute=minute, count=number)
            LaneUse.objects.filter(lane=lane, domain=domain, minute__lt=now - KEPT).delete()


def uncount(lane_id: int, given_back: Mapping[str, int], claimed_at: datetime) -> None:
    """Takes from the counts of the minute of the claim; needs no lock."""
    for domain, number in sorted(given_back.items()):
        row = LaneUse.objects.filter(lane_id=lane_id, domain=domain, minute=minute_of(claimed_at))
        row.update(count=F("count") - number)
