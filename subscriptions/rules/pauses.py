"""How long a reader may pause, and when that ends: at the beginning of a day, on the newsletter's clock."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from common.refused import Refused
from subscriptions.rules.periods import in_month
from subscriptions.rules.schedule import first_instant, wall

WEEK, FORTNIGHT, MONTH = "week", "fortnight", "month"
LENGTHS = (WEEK, FORTNIGHT, MONTH)


class BadDate(Refused):
    """A day on which no pause can end."""


def day_after(length: str, *, now: datetime, zone: ZoneInfo) -> date:
    """The day on which letters come again after a pause of that length. Raises BadDate for another length."""
    today = wall(now, zone).date()
    match length:
        case "week":
            return today + timedelta(weeks=1)
        case "fortnight":
            return today + timedelta(weeks=2)
        case "month":
            return in_month(today, 1, today.day)
    raise BadDate(length)


def bounds(*, now: datetime, zone: ZoneInfo) -> tuple[date, date]:
    """The first and the last day on which a pause may end: tomorrow, and in a year."""
    today = wall(now, zone).date()
    return today + timedelta(days=1), in_month(today, 12, today.day)


def pause_end(day: date, *, now: datetime, zone: ZoneInfo) -> datetime:
    """The instant at which letters come again. Raises BadDate for a day that is past, or too far off."""
    first, last = bounds(now=now, zone=zone)
    if not first <= day <= last:
        raise BadDate(day.isoformat())
    return first_instant(datetime.combine(day, time(0)), zone)
