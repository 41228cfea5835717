"""Each period ends where the next starts."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from subscriptions.rules.schedule import Schedule, firings, first_instant, wall

# A clock set back by a whole day needs four.
_LOOK_AHEAD = 6


@dataclass(frozen=True, slots=True)
class Period:
    """[start, end) in UTC."""

    start: datetime
    end: datetime

    def __contains__(self, moment: datetime) -> bool:
        return self.start <= moment < self.end


def period_for(moment: datetime, schedule: Schedule, zone: ZoneInfo) -> Period:
    """Raises ValueError without periods, or without a firing on either side."""
    shown, at = wall(moment, zone), schedule.at
    # Today's cut may be still to come.
    day = shown.date() - timedelta(days=1)
    # Wall-clock cuts, the first not after the moment.
    match schedule.arrangement:
        case "cron":
            cuts = firings(schedule.cron, shown)
        case "daily":
            cuts = (datetime.combine(day + timedelta(days=k), at) for k in range(_LOOK_AHEAD))
        case "weekly":
            first = day - timedelta(days=(day.weekday() - schedule.weekday) % 7)
            cuts = (datetime.combine(first + timedelta(weeks=k), at) for k in range(_LOOK_AHEAD))
        case "monthly":
            days = (in_month(day, k, schedule.day_of_month) for k in range(-1, _LOOK_AHEAD - 1))
            cuts = (datetime.combine(each, at) for each in days)
        case _:
            raise ValueError(f"The arrangement {schedule.arrangement} has no periods.")
    start: datetime | None = None
    for reading in cuts:
        cut = first_instant(reading, zone)
        if cut <= moment:
            start = cut
        elif start is not None:
            return Period(start, cut)
    raise ValueError(f"There is no period around {moment.isoformat()} in {schedule}.")


def next_ends(schedule: Schedule, zone: ZoneInfo, after: datetime, count: int = 5) -> list[datetime]:
    """Return ends in UTC, if there are periods."""
    ends: list[datetime] = []
    for _ in range(count if schedule.has_periods else 0):
        after = period_for(after, schedule, zone).end
        ends.append(after)
    return ends


def in_month(day: date, months: int, day_of_month: int) -> date:
    """Return that day `months` after `day`, or the month's last day."""
    years, month = divmod(day.month - 1 + months, 12)
    year = day.year + years
    return date(year, month + 1, min(day_of_month, monthrange(year, month + 1)[1]))
