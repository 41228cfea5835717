"""From a wall clock's reading to the instant it stands for, whatever daylight saving does to it."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo


def wall(moment: datetime, zone: ZoneInfo) -> datetime:
    """What the zone's clock shows at an aware moment, as a naive datetime."""
    if moment.tzinfo is None:
        raise ValueError("A moment needs a time zone.")
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def first_instant(reading: datetime, zone: ZoneInfo) -> datetime:
    """The first instant (UTC) at which the zone's clock shows the naive `reading` or a later one.

    A reading that occurs twice means its first; one that is skipped, the first instant after the gap.
    So a later reading is never an earlier instant; two skipped ones may be the same.
    """
    instant = reading.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if wall(instant, zone) == reading:
        return instant
    # PEP 495: in a gap, fold=0 reads the offset before it and so lies after it; fold=1 the reverse.
    return _end_of_gap(reading.replace(tzinfo=zone, fold=1).astimezone(UTC), instant, reading, zone)


def _end_of_gap(before: datetime, after: datetime, reading: datetime, zone: ZoneInfo) -> datetime:
    # Offsets change at whole seconds; a day's gap (Apia, 2011-12-30) takes 18 halvings.
    low, high = before.replace(microsecond=0), after
    while (width := int((high - low).total_seconds())) > 1:
        middle = low + timedelta(seconds=width // 2)
        if wall(middle, zone) < reading:
            low = middle
        else:
            high = middle
    return low + timedelta(seconds=1)
