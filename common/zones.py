"""Time zones in English."""

import re
from zoneinfo import ZoneInfo

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
