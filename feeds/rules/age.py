"""Whether a post is older than its feed's adding.

Dates are weak evidence: some lack a zone, or are a draft's.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta

# Older dates are from clocks that were never set.
NONE_BEFORE = datetime(2001, 1, 1, tzinfo=UTC)
# Older posts at the top were put there again.
LONGEST_DRAFT = timedelta(days=92)
# Before UTC.
EARLIEST_ZONE = timedelta(hours=14)


def believed(
    published: Mapping[str, datetime | None], *, newest_before: datetime | None = None
) -> dict[str, datetime | None]:
    """Replace dates before 2001, and a date that all posts share, by None.

    A shared date counts if later than `newest_before`, the newest so far: the posts came out together.
    """
    dates = set(published.values())
    constant = len(published) > 1 and len(dates) == 1
    if constant and newest_before is not None:
        (date,) = dates
        constant = date is None or date <= newest_before
    return {
        id_: None if constant or date is None or date < NONE_BEFORE else date
        for id_, date in published.items()
    }


def at_the_new_end(
    ranked: Sequence[str], published: Mapping[str, datetime | None], known: Collection[str], moment: datetime
) -> set[str]:
    """Return the ids of `ranked` (newest first) above the newest known one, or as new.

    That has the latest date before `moment`, so it is neither pinned nor a coming event.
    """
    places = [place for place, id_ in enumerate(ranked) if id_ in known]
    if not places:
        return set()
    dates = {place: date for place in places if (date := published.get(ranked[place])) and date <= moment}
    newest = max(dates.values(), default=None)
    end = min((place for place, date in dates.items() if date == newest), default=places[0])
    as_new = {id_ for id_ in ranked if newest is not None and (date := published.get(id_)) and date >= newest}
    return {*ranked[:end], *as_new}


def is_older(
    published: datetime | None,
    slack: timedelta,
    *,
    added_at: datetime,
    behind: timedelta = timedelta(0),
    at_new_end: bool = False,
) -> bool:
    """Return whether it came out before `added_at`, whatever its date may mean.

    `slack`: how much later it may be; `behind`: lag of the server's clock.
    """
    if published is None:
        return False
    excused = LONGEST_DRAFT if at_new_end else timedelta(0)
    return published + slack + max(behind, timedelta(0)) + excused <= added_at


def is_newer(
    published: datetime | None, slack: timedelta, *, since: datetime, until: datetime, behind: timedelta
) -> bool:
    if published is None:
        return False
    earliest = published + min(behind, timedelta(0)) - (EARLIEST_ZONE if slack else timedelta(0))
    return since < earliest and published <= until
