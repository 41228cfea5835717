"""Pauses end at the start of a day, in the newsletter's zone."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from common.refused import Refused
from subscriptions.rules.periods import in_month
from subscriptions.rules.schedule import first_instant, wall

WEEK, FORTNIGHT, MONTH = "week", "fortnight", "month"
LENGTHS = (WEEK, FORTNIGHT, MONTH)


class BadDate(Refused):
    """Day on which no pause can end."""


def day_after(length: str, *, now: datetime, zone: ZoneInfo) -> date:
    """Raises BadDate for an unknown length."""
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
    """Return tomorrow, and the day in a year."""
    today = wall(now, zone).date()
    return today + timedelta(days=1), in_month(today, 12, today.day)


def pause_end(day: date, *, now: datetime, zone: ZoneInfo) -> datetime:
    """Raises BadDate outside the bounds."""
    first, last = bounds(now=now, zone=zone)
    if not first <= day <= last:
        raise BadDate(day.isoformat())
    return first_instant(datetime.combine(day, time(0)), zone)
