"""Letters that wait because a server refuses us."""

from collections.abc import Collection
from datetime import datetime, timedelta

from channels.rules.refusals import LARGE_DOMAINS, SHARE
from common.backoff import delay

FIRST_REST = timedelta(minutes=5)
LONGEST_REST = timedelta(hours=4)
# After a rest all is tried at once. Without a refusal for this long, the trouble is over.
WELL_AFTER = timedelta(hours=1)
# A domain that refused for so long needs a person: the letters are no news any more.
LONGEST_REFUSAL = timedelta(days=4)


def domain_rests_until(failures: int, now: datetime, *, chance: float | None = None) -> datetime:
    """Return the end of a domain's rest: 5 minutes to 4 hours by consecutive `failures`."""
    return now + delay(failures, first=FIRST_REST, limit=LONGEST_REST, chance=chance)


def is_over(free_at: datetime | None, now: datetime) -> bool:
    """Return whether a refusal now is a new trouble."""
    return free_at is None or now - free_at > WELL_AFTER


def is_everybodys(resting: int, *, sent: bool) -> bool:
    """Return whether so many resting domains, with nothing sent, mean that the fault is ours."""
    return resting >= LARGE_DOMAINS and not sent


def refuses_sender(domains: Collection[str], *, refused: int, sent: int, untried: bool) -> bool:
    """Return whether a newsletter's sender is refused, not only by one odd domain.

    `refused` and `sent` count an issue's letters to these `domains`; `untried`: others remain.
    """
    if not sent:
        return len(domains) >= LARGE_DOMAINS or not untried
    return len(domains) >= LARGE_DOMAINS and refused >= SHARE * (refused + sent)
