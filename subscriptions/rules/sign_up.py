"""What a sign-up leads to. The page says the same whatever comes out here."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum

AT_MOST_EVERY = timedelta(minutes=5)
A_DAY = timedelta(days=1)
AT_MOST_A_DAY = 5
LONGEST_NAME = 100
# Newsletters in one sign-up: what fits into one mail and its link.
MOST_AT_ONCE = 20


class Answer(Enum):
    """What goes to the address: the confirmation, a word that it is subscribed already, or nothing."""

    CONFIRM = "confirmation"
    ALREADY = "already"
    NOTHING = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an address stands with a newsletter. `blocked`: suppressed, or nothing arrives there."""

    status: str = ""
    blocked: bool = False


def answer(standing: Standing, *, earlier: Iterable[datetime], now: datetime) -> Answer:
    """The answer to a sign-up, given when this subscription was written to `earlier`."""
    if standing.blocked or not may_write(earlier=earlier, now=now):
        return Answer.NOTHING
    return Answer.ALREADY if standing.status == "confirmed" else Answer.CONFIRM


def may_write(*, earlier: Iterable[datetime], now: datetime) -> bool:
    """At most one mail in five minutes and five in a day, so that nobody can be flooded through us."""
    recent = [moment for moment in earlier if now - moment < A_DAY]
    return len(recent) < AT_MOST_A_DAY and all(now - moment >= AT_MOST_EVERY for moment in recent)


def remembered(seconds: Iterable[float] | None) -> list[datetime]:
    """The moments that `noted` has kept."""
    return [datetime.fromtimestamp(second, UTC) for second in seconds or ()]


def noted(seconds: Iterable[float] | None, now: datetime) -> list[float]:
    """The moments that still count, and now, as seconds since 1970."""
    return [second for second in seconds or () if second > (now - A_DAY).timestamp()] + [now.timestamp()]


def tidy_name(name: str) -> str:
    """A person's name on one line: no control or formatting characters, no runs of space, ≤ 100 long."""
    visible = (" " if unicodedata.category(char)[0] in "CZ" else char for char in name[: LONGEST_NAME * 10])
    return " ".join("".join(visible).split())[:LONGEST_NAME].rstrip()
