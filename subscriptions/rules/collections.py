"""Names of collections: unique within a newsletter, and issued at most once."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from zoneinfo import ZoneInfo

from subscriptions.rules.schedule import Period, Schedule, period_for

_NUMBERED = re.compile(r"#([0-9]+)(?:\+|\Z)")
LOOK_AHEAD = 100


def within_type_id_for(
    arrangement: str, *, item_id: int | None = None, period: Period | None = None, counter: int | None = None
) -> str:
    """Return the item's key, the counter, or the period's start."""
    if arrangement == "each" and item_id is not None:
        return str(item_id)
    if arrangement == "every_n" and counter is not None:
        # Keeps it apart from an item's key if the newsletter was "each" before.
        return f"#{counter}"
    if arrangement not in ("each", "every_n") and period is not None:
        return f"{period.start.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    raise ValueError(f"Nothing to name a collection of the arrangement {arrangement} by.")


def number_of(wti: str) -> int | None:
    match = _NUMBERED.match(wti)
    return int(match[1]) if match else None


@dataclass(frozen=True, slots=True)
class Slot:
    within_type_id: str
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class OpenCollection:
    within_type_id: str
    end: datetime
    sealed: bool


def period_slot(
    *,
    final_at: datetime,
    now: datetime,
    schedule: Schedule,
    zone: ZoneInfo,
    issued_through: datetime | None,
    collections: Sequence[OpenCollection],
) -> Slot:
    """Return the slot for an item that became final at `final_at` and is assigned at `now`.

    Skips sealed and issued periods. A period that overlaps an issued one, after an edit of the schedule,
    starts where that ended: no name (the start instant) is used twice. Collections are matched by their
    stored end.
    """
    by_end = {collection.end: collection for collection in collections}
    names = {collection.within_type_id for collection in collections}
    for moment, period in islice(_candidates(final_at, now, schedule, zone), LOOK_AHEAD):
        if issued_through is not None and period.end <= issued_through:
            continue
        if (there := by_end.get(period.end)) is not None:
            if there.sealed:
                continue
            return Slot(there.within_type_id, period.start, period.end)
        start = period.start if issued_through is None else max(period.start, issued_through)
        # An earlier schedule may have used the name.
        later = max(start, moment).replace(microsecond=0)
        for begin in chain((start,), (later + timedelta(seconds=each) for each in range(LOOK_AHEAD))):
            name = within_type_id_for("daily", period=Period(begin, period.end))
            if name not in names and begin < period.end:
                return Slot(name, begin, period.end)
    raise ValueError("The schedule has no period that is still open.")


def _candidates(
    final_at: datetime, now: datetime, schedule: Schedule, zone: ZoneInfo
) -> Iterator[tuple[datetime, Period]]:
    """Yield periods with a moment in each: the item's own, then from `now` on."""
    yield final_at, period_for(final_at, schedule, zone)
    moment = max(now, final_at)
    while True:
        period = period_for(moment, schedule, zone)
        yield moment, period
        moment = period.end
