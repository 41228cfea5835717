"""Which end of a document is the new one, and what is newest in it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise


def newest_first(order: Sequence[str], published: Mapping[str, datetime | None]) -> list[str]:
    """The ids with the newest first: as they stand, or reversed when most dates ascend."""
    dates = [date for date in (published.get(id_) for id_ in order) if date is not None]
    ascending = sum(earlier < later for earlier, later in pairwise(dates))
    descending = sum(earlier > later for earlier, later in pairwise(dates))
    return list(reversed(order)) if ascending > descending else list(order)


def newest(order: Sequence[str], published: Mapping[str, datetime | None], count: int) -> set[str]:
    """The `count` newest ids: by date where all have one, else by position."""
    ranked = newest_first(order, published)
    dates = {id_: date for id_ in order if (date := published.get(id_)) is not None}
    if len(dates) == len(order):
        ranked.sort(key=dates.__getitem__, reverse=True)
    return set(ranked[:count])
