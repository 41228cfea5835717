"""Whether an issue goes out at once, at a time of its own, or waits for a person."""

from dataclasses import dataclass
from datetime import datetime, timedelta

NONE, CLICK, DELAY = "none", "click", "delay"


@dataclass(frozen=True, slots=True)
class Release:
    """`waits`: it is stored as a draft. `at`: when it goes by itself; None waits for a click."""

    waits: bool
    at: datetime | None = None


def release_of(approval: str, minutes: int | None, now: datetime) -> Release:
    """What becomes of an issue completed at `now`, by its newsletter's wish."""
    if approval == DELAY and minutes:
        return Release(waits=True, at=now + timedelta(minutes=minutes))
    return Release(waits=approval in (CLICK, DELAY))
