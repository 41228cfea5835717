import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from dateutil.parser import parse

from common.refused import Refused

ORDERS = ("dmy", "mdy")

# Go's time.String(), from listmonk: 2026-03-02 12:00:00.1 +0200 CEST
_GO = re.compile(
    r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.\d{1,9})? ([+-])(\d\d)(\d\d)(?: [A-Z+-]\S{0,9})?", re.ASCII
)
_EPOCH = re.compile(r"\d{10}(\d{3})?", re.ASCII)
_DAY = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d\d)(?:[ T,]+(\S.*))?", re.ASCII)
# With a month's name: “January 2, 2023”, “2 Jan 2023 3:04 PM”.
_WRITTEN = re.compile(
    r"(?:\w{3,9},? )?(?:[a-z]{3,9}\.? \d{1,2}|\d{1,2} [a-z]{3,9}\.?),? \d{4}\b.*", re.I | re.ASCII
)


_MIDNIGHT = datetime(2000, 1, 1)  # noqa: DTZ001 - the text may name a zone


class NoTime(Refused):
    """Invalid or ambiguous time. The message is a sentence."""


# The columns of a line often have the same time.
@lru_cache(maxsize=1000)
def read_moment(text: str, dates: str = "") -> datetime:
    """Return UTC, the default zone. Raises NoTime.

    `dates`: order of 3/4/2026, “dmy” or “mdy”. Without it, only unambiguous days are valid.
    """
    try:
        if match := _GO.fullmatch(text):
            offset = timedelta(hours=int(match[3]), minutes=int(match[4]))
            zone = timezone(offset if match[2] == "+" else -offset)
            read = datetime.fromisoformat(match[1]).replace(tzinfo=zone)
        elif match := _EPOCH.fullmatch(text):
            read = datetime.fromtimestamp(int(text[:10]), UTC)
        elif match := _DAY.fullmatch(text):
            first, second, order = int(match[1]), int(match[3]), dates
            # Dots are used only with the day first.
            if match[2] == "." or first == second or first > 12:
                order = "dmy"
            elif second > 12:
                order = "mdy"
            if not order:
                raise NoTime(f"“{text[:40]}” may be two days. Say whether the day or the month is first.")
            day, month = (first, second) if order == "dmy" else (second, first)
            year = match[4] if len(match[4]) == 4 else f"20{match[4]}"
            read = parse(f"{year}-{month:02}-{day:02} {match[5] or '00:00'}")
        elif _WRITTEN.fullmatch(text):
            read = parse(text, default=_MIDNIGHT)
        else:
            # As beehiiv writes: “2026-03-02 12:00:00 UTC”.
            read = datetime.fromisoformat(text.removesuffix(" UTC"))
        return (read if read.tzinfo else read.replace(tzinfo=UTC)).astimezone(UTC)
    except NoTime:
        raise
    except (ValueError, OverflowError, TypeError):
        raise NoTime(f"“{text[:40]}” is not a time; write 2026-03-02 or 2026-03-02T12:00:00Z.") from None
