"""Time zones, and moments as people say them, in English."""

import re
from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo

from django.utils import timezone

_UTC_NAMES = frozenset({"UTC", "UCT", "Universal", "Zulu", "GMT", "GMT0", "GMT+0", "GMT-0", "Greenwich"})
_FIXED = re.compile(r"GMT([+-])(\d+)")


def zone_words(zone: ZoneInfo) -> str:
    """Return "New York time", "UTC" or "UTC+3"."""
    place = place_of(zone)
    return f"{place} time" if place else offset_words(zone)


def place_of(zone: ZoneInfo) -> str:
    """Return "New York", or "" for UTC and fixed offsets."""
    name = str(zone).rpartition("/")[2]
    is_counted = name in _UTC_NAMES or _FIXED.fullmatch(name)
    return "" if is_counted else name.replace("_", " ")


def offset_words(zone: ZoneInfo) -> str:
    # Etc/GMT-3 is three hours ahead.
    fixed = _FIXED.fullmatch(str(zone).rpartition("/")[2])
    return f"UTC{'-' if fixed[1] == '+' else '+'}{fixed[2]}" if fixed else "UTC"


def short_when(moment: datetime, *, now: datetime, zone: tzinfo | None = None) -> str:
    """Return "14:25" for today, "Yesterday 7:00", "Tomorrow 7:00", otherwise "Mon 23 Nov".

    Of another day to come it gives the time, too, and of another year the year.
    """
    local, today = timezone.localtime(moment, zone), timezone.localtime(now, zone).date()
    clock, days = f"{local.hour}:{local.minute:02}", (local.date() - today).days
    if days == 0:
        return f"Today {clock}" if moment > now else clock
    if days in (-1, 1):
        return f"{'Tomorrow' if days > 0 else 'Yesterday'} {clock}"
    year = f" {local.year}" if local.year != today.year else ""
    return f"{local:%a} {local.day} {local:%b}{year}{f', {clock}' if days > 0 else ''}"


def short_when_there(moment: datetime, *, now: datetime, zone: ZoneInfo) -> str:
    """Name the zone if it is not the admin's."""
    words, here = short_when(moment, now=now, zone=zone), timezone.localtime(moment)
    return (
        words if moment.astimezone(zone).utcoffset() == here.utcoffset() else f"{words} ({zone_words(zone)})"
    )
