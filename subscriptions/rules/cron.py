"""Cron lines: five fields, read on the wall clock (the zone's daylight saving is applied by the caller)."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import chain, islice

from cronsim import CronSim, CronSimError

MAX_LENGTH = 200
FIELDS = "minute hour day month weekday, such as 0 7 * * 1,4"
_ANY_TIME = datetime(2000, 1, 1)  # noqa: DTZ001 - a wall-clock time


def firings(line: str, reading: datetime) -> Iterator[datetime]:
    """The wall-clock times a line fires at: the last one not after the naive `reading`, then all later ones.

    Looks at most 50 years either way. Given to cronsim without a zone: it would fire every doubled hour
    twice for lines with a star, and step through a gap minute by minute.
    """
    reading = reading.replace(microsecond=0)
    earlier = islice(CronSim(line, reading + timedelta(seconds=1), reverse=True), 1)
    return chain(earlier, CronSim(line, reading))


def check_cron(line: str) -> None:
    """Raises ValueError, in a sentence for the admin, for a line that is wrong or never fires.

    Neither zone nor present matters: what fires at all does so within 40 years (a 29 February on a Sunday).
    """
    if len(line) > MAX_LENGTH:
        raise ValueError(f"The cron line is longer than {MAX_LENGTH} characters.")
    if (count := len(line.split())) != 5:
        raise ValueError(f"A cron line has five fields ({FIELDS}); “{line}” has {count}.")
    try:
        found = list(islice(firings(line, _ANY_TIME), 2))
    except CronSimError as error:
        raise ValueError(_sentence(line, str(error))) from None
    if len(found) < 2:
        raise ValueError(f"The cron line “{line}” never fires: there is no such date.")


def _sentence(line: str, reason: str) -> str:
    name = reason.removeprefix("Bad ")
    if name == "day-of-month" and _day_is_readable(line):
        return f"The cron line “{line}” never fires: its months have no such day."
    names = {"day-of-month": "day", "day-of-week": "weekday"}
    return f"The cron line “{line}” has a wrong {names.get(name, name)}. It reads: {FIELDS}."


def _day_is_readable(line: str) -> bool:
    # cronsim says "Bad day-of-month" both for a day it cannot read and for 30 February.
    fields = line.split()
    fields[3] = "*"
    try:
        CronSim(" ".join(fields), _ANY_TIME)
    except CronSimError:
        return False
    return True
