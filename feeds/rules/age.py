"""Decides whether a post is older than its feed's adding, by position and date.

Dates are weak evidence: some lack a time or zone, some are the same for all posts, some are a draft's.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta

# There were hardly any feeds before. An older date is from a clock that was never set.
NONE_BEFORE = datetime(2001, 1, 1, tzinfo=UTC)
# A post at the new end may be dated this long before the adding: a draft, or a date of a month. An older post
# there has been put to the top again.
LONGEST_DRAFT = timedelta(days=92)
# The first zone's day begins this long before UTC's.
EARLIEST_ZONE = timedelta(hours=14)


def believed(
    published: Mapping[str, datetime | None], *, newest_before: datetime | None = None
) -> dict[str, datetime | None]:
    """Return the dates that mean something; the others become None.

    Ignored are dates before 2001, and one date shared by several posts, unless it is later than
    `newest_before`, the newest date shown so far: then the posts came out together.
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
    ranked: Sequence[str],
    published: Mapping[str, datetime | None],
    known: Collection[str],
    moment: datetime,
) -> set[str]:
    """Return the ids of `ranked` (newest first) above the newest known one, or as new as it.

    The newest known one has the latest date that is not in the future, so it is neither a pinned post nor a
    coming event. Without dates it is the first. Returns nothing if none is known.
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

    `slack`: how much later it may be than its date; `behind`: how far the server's clock is behind.
    """
    if published is None:
        return False
    excused = LONGEST_DRAFT if at_new_end else timedelta(0)
    return published + slack + max(behind, timedelta(0)) + excused <= added_at


def is_newer(
    published: datetime | None, slack: timedelta, *, since: datetime, until: datetime, behind: timedelta
) -> bool:
    """Return whether it certainly came out between `since` and `until`.

    A server's clock that is ahead is corrected; a cache's old answer is not.
    """
    if published is None:
        return False
    earliest = published + min(behind, timedelta(0)) - (EARLIEST_ZONE if slack else timedelta(0))
    return since < earliest and published <= until
