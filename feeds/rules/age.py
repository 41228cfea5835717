"""Whether a post is older than its feed's adding: by its place in the document and by what its date can mean.

A date is weak evidence. Some name a day only, some a local time without its zone, some are the same for all
posts, some are those of a draft that was begun last week, and some are a slow clock's.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta

# There were hardly any feeds before; an older date is from a clock that was never set.
NONE_BEFORE = datetime(2001, 1, 1, tzinfo=UTC)
# A post that is new at the new end may be dated so long before the adding: it was a draft, or its date names
# a month. An older post that comes first has been put there again.
LONGEST_DRAFT = timedelta(days=92)
# A date without time or zone may mean so much earlier: the first zone's day begins so long before UTC's.
EARLIEST_ZONE = timedelta(hours=14)


def believed(
    published: Mapping[str, datetime | None], *, newest_before: datetime | None = None
) -> dict[str, datetime | None]:
    """Return the dates that say something; the others become None.

    A date before 2001 says nothing. Neither does one that all of several posts share, unless it is later than
    `newest_before`, the newest date that the feed had shown: then these posts came out together.
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
    """The ids in `ranked`, newest first, that stand before the newest known one, or are as new as it.

    The newest known one has the latest date that is not in the future: so neither a pinned post nor an event
    to come is it. Without dates it is the first one. If none is known there is no such end.
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
    """Whether it came out before `added_at`, whatever its date may mean.

    `slack`: how much later than its date says; `behind`: how far the server's clock is behind ours.
    """
    if published is None:
        return False
    excused = LONGEST_DRAFT if at_new_end else timedelta(0)
    return published + slack + max(behind, timedelta(0)) + excused <= added_at


def is_newer(
    published: datetime | None, slack: timedelta, *, since: datetime, until: datetime, behind: timedelta
) -> bool:
    """Whether it surely came out after `since`, and not in the future of `until`.

    A clock that runs ahead is set back by as much; that of a cache's old answer is not set forward.
    """
    if published is None:
        return False
    earliest = published + min(behind, timedelta(0)) - (EARLIEST_ZONE if slack else timedelta(0))
    return since < earliest and published <= until
