"""Whether a post is older than its feed's adding.

Dates are weak evidence: some lack a zone, or are a draft's.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Protocol

from feeds.parsing.likeness import UNLIKE, Likeness

# Older dates are from clocks that were never set.
NONE_BEFORE = datetime(2001, 1, 1, tzinfo=UTC)
# Older posts at the top were put there again.
LONGEST_DRAFT = timedelta(days=92)
# Before UTC.
EARLIEST_ZONE = timedelta(hours=14)
BEYOND = "beyond the newest entries that are read in full"
# Of fewer, a pinned post may decide.
ENOUGH_DATES = 4
# On sites that rank posts, about half are out of order.
RANKED_SHARE = 3


def newest_first(order: Sequence[str], published: Mapping[str, datetime | None]) -> list[str]:
    """Reverse the order if most dates ascend."""
    dates = [date for date in (published.get(id_) for id_ in order) if date is not None]
    ascending = sum(earlier < later for earlier, later in pairwise(dates))
    descending = sum(earlier > later for earlier, later in pairwise(dates))
    return list(reversed(order)) if ascending > descending else list(order)


def is_ranked(order: Sequence[str], published: Mapping[str, datetime | None]) -> bool:
    dates = [date for date in (published.get(id_) for id_ in order) if date is not None]
    ascending = sum(earlier < later for earlier, later in pairwise(dates))
    return len(dates) >= ENOUGH_DATES and RANKED_SHARE * ascending >= len(dates) - 1


def newest_ids(order: Sequence[str], published: Mapping[str, datetime | None], count: int) -> set[str]:
    """Choose by date if all have one, else by position."""
    ranked = newest_first(order, published)
    dates = {id_: date for id_ in order if (date := published.get(id_)) is not None}
    if len(dates) == len(order):
        ranked.sort(key=dates.__getitem__, reverse=True)
    return set(ranked[:count])


class Delays(Protocol):
    """A feed's, in whole minutes."""

    min_delay_minutes: int
    await_stabilization_minutes: int
    max_delay_minutes: int


class FeedRow(Delays, Protocol):
    status: str
    added_at: datetime
    start: str
    start_count: int
    first_polled_at: datetime | None
    fetched_through: datetime | None
    read_elsewhere_until: datetime | None
    floods_sent_at: datetime | None
    for_letters: bool
    hold_floods: bool
    hold_next: bool
    join_reposts: bool


class ItemRow(Protocol):
    """`like` is for comparison."""

    pk: Any
    guid_hash: str
    link_hash: str
    published_at: datetime | None
    state: str
    reason: str
    content_hash: str
    first_seen: datetime
    stable_since: datetime
    vanished_at: datetime | None
    rolled_off_at: datetime | None
    final_at: datetime | None
    held_at: datetime | None
    set_aside_at: datetime | None
    changes: int
    returns: int

    @property
    def like(self) -> Likeness: ...
    @property
    def waits(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Known:
    """Items that may change, and ids of those (`done`) that won't.

    `reposts` and `older`: ids in `done` excluded for these reasons. `formers`: items that may have come back
    under a new id, also by `similarities` of their texts: (new id, former's id) → 0 to 1. `order`: of the
    last document, newest first. `changed`: ids that had another content there.
    """

    items: Sequence[ItemRow] = ()
    done: Collection[str] = frozenset()
    reposts: Collection[str] = frozenset()
    older: Collection[str] = frozenset()
    formers: Sequence[ItemRow] = ()
    similarities: Mapping[tuple[str, str], float] = field(default_factory=dict)
    order: Sequence[str] = ()
    changed: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """`link`: hash or "".

    `slack`: how much later than `published` it may be.
    """

    content_hash: str
    published: datetime | None = None
    link: str = ""
    slack: timedelta = timedelta(0)
    like: Likeness = UNLIKE


@dataclass(frozen=True, slots=True)
class Document:
    order: tuple[str, ...]
    entries: Mapping[str, Seen]
    # Missing posts were withdrawn.
    is_complete: bool = False

    @property
    def published(self) -> dict[str, datetime | None]:
        return believed({id_: entry.published for id_, entry in self.entries.items()})

    def published_since(self, newest_before: datetime | None) -> dict[str, datetime | None]:
        dates = {id_: entry.published for id_, entry in self.entries.items()}
        return believed(dates, newest_before=newest_before)

    @property
    def links(self) -> dict[str, str]:
        return {id_: entry.link for id_, entry in self.entries.items() if entry.link}

    def newest_first(self) -> list[str]:
        return newest_first(self.order, self.published)


@dataclass(frozen=True, slots=True)
class Insert:
    id: str
    excluded: str = ""
    final: bool = False
    held: bool = False


@dataclass(slots=True)
class PollPlan:
    """Changes as lists of primary keys, or key → id.

    `rekey` comes first and leaves an excluded row under the old id. `flicker`: items in `restart` that come
    and go; their clock continues. `set_aside`: withdrawn, in collections. `calm`: had changed, but not now.
    `drop`: exclude held items. `forget`: delete reposts.
    """

    insert: list[Insert] = field(default_factory=list)
    rekey: dict[int, str] = field(default_factory=dict)
    rewrite: dict[int, str] = field(default_factory=dict)
    unsettle: list[int] = field(default_factory=list)
    restart: dict[int, str] = field(default_factory=dict)
    flicker: list[int] = field(default_factory=list)
    calm: list[int] = field(default_factory=list)
    confirm: list[int] = field(default_factory=list)
    finalise: list[int] = field(default_factory=list)
    roll_off: list[int] = field(default_factory=list)
    roll_back: list[int] = field(default_factory=list)
    vanish: list[int] = field(default_factory=list)
    set_aside: list[int] = field(default_factory=list)
    take_back: list[int] = field(default_factory=list)
    drop: list[int] = field(default_factory=list)
    forget: list[int] = field(default_factory=list)
    # Unsettled items without a change.
    steady: int = field(default=0, compare=False)
    # Left to the next reading.
    deferred: tuple[str, ...] = field(default=(), compare=False)
    # Posts with another id here.
    came_back: tuple[str, ...] = field(default=(), compare=False)
    # With a new id; how many had one before.
    reposts: int = field(default=0, compare=False)
    habitual: int = field(default=0, compare=False)
    all_unknown: bool = field(default=False, compare=False)
    # The feed moved, or another site answers.
    stranger: bool = field(default=False, compare=False)
    # `held_for` says why, if not because of a flood.
    holds: bool = field(default=False, compare=False)
    held_for: str = field(default="", compare=False)

    @property
    def counts(self) -> dict[str, int]:
        """Return columns of `Poll`. Held posts are among the new."""
        excluded = sum(bool(insert.excluded) for insert in self.insert)
        return {
            "new": len(self.insert) - excluded + len(self.restart),
            "changed": len(self.rewrite),
            "vanished": len(self.vanish) + len(self.set_aside),
            "held": sum(insert.held for insert in self.insert),
            "excluded": excluded + len(self.drop),
            "final": len(self.finalise) + sum(insert.final for insert in self.insert),
        }

    @property
    def restless(self) -> bool | None:
        return False if self.steady else True if self.rewrite else None


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
