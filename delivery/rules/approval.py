from dataclasses import dataclass
from datetime import datetime, timedelta

NONE, CLICK, DELAY = "none", "click", "delay"


@dataclass(frozen=True, slots=True)
class Release:
    """`waits`: stored as a draft. `at`: when it is sent anyway; None waits for a click."""

    waits: bool
    at: datetime | None = None


def release_of(
    approval: str,
    minutes: int | None,
    now: datetime,
    *,
    is_sent_now: bool = False,
    waits_for_editor: bool = False,
) -> Release:
    """Decide about an issue completed at `now`. An editor's wish precedes the newsletter's."""
    if is_sent_now or waits_for_editor:
        return Release(waits=not is_sent_now)
    if approval == DELAY and minutes:
        return Release(waits=True, at=now + timedelta(minutes=minutes))
    return Release(waits=approval in (CLICK, DELAY))
