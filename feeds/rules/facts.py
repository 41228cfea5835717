"""What a plan is made from, and what it says; and which end of a document is the new one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from feeds.parsing.likeness import UNLIKE, Likeness
from feeds.rules.age import believed

# Of fewer posts, a pinned one may make the difference.
ENOUGH_DATES = 4
# The front page of a site that ranks its posts has about every second one out of the order of their dates.
RANKED_SHARE = 3


def newest_first(order: Sequence[str], published: Mapping[str, datetime | None]) -> list[str]:
    """The ids with the newest first: as they stand, or reversed when most dates ascend."""
    dates = [date for date in (published.get(id_) for id_ in order) if date is not None]
    ascending = sum(earlier < later for earlier, later in pairwise(dates))
    descending = sum(earlier > later for earlier, later in pairwise(dates))
    return list(reversed(order)) if ascending > descending else list(order)


def is_ranked(order: Sequence[str], published: Mapping[str, datetime | None]) -> bool:
    """Whether the ids, newest first, plainly stand in another order than that of their dates."""
    dates = [date for date in (published.get(id_) for id_ in order) if date is not None]
    ascending = sum(earlier < later for earlier, later in pairwise(dates))
    return len(dates) >= ENOUGH_DATES and RANKED_SHARE * ascending >= len(dates) - 1


def newest_ids(order: Sequence[str], published: Mapping[str, datetime | None], count: int) -> set[str]:
    """The `count` newest ids: by date where all have one, else by position."""
    ranked = newest_first(order, published)
    dates = {id_: date for id_ in order if (date := published.get(id_)) is not None}
    if len(dates) == len(order):
        ranked.sort(key=dates.__getitem__, reverse=True)
    return set(ranked[:count])


@dataclass(frozen=True, slots=True)
class KnownItem:
    """An item as its row stands. `id` is the digest of its guid; `changes` and `returns` are Item's."""

    pk: int
    id: str
    state: str
    content_hash: str
    first_seen: datetime
    stable_since: datetime
    vanished: bool = False
    rolled_off: bool = False
    final: bool = False
    held: bool = False
    changes: int = 0
    returns: int = 0
    set_aside: bool = False

    @property
    def waits(self) -> bool:
        return self.state == "unassigned" and not self.vanished


@dataclass(frozen=True, slots=True)
class Seen:
    """An entry of the document that was read in full. `link` is the hash of its canonical link, or "".

    `slack`: how much later than `published` it may have come out, as the date names a day or no zone.
    """

    content_hash: str
    published: datetime | None = None
    link: str = ""
    slack: timedelta = timedelta(0)
    like: Likeness = UNLIKE


@dataclass(frozen=True, slots=True)
class Document:
    """All ids in the document's order; the newest of them in full."""

    order: tuple[str, ...]
    entries: Mapping[str, Seen]

    @property
    def published(self) -> dict[str, datetime | None]:
        """The dates that say something."""
        return believed({id_: entry.published for id_, entry in self.entries.items()})

    def published_since(self, newest_before: datetime | None) -> dict[str, datetime | None]:
        """Return the dates that say something beside the newest date of the document before."""
        dates = {id_: entry.published for id_, entry in self.entries.items()}
        return believed(dates, newest_before=newest_before)

    @property
    def links(self) -> dict[str, str]:
        """The links by which posts are recognised."""
        return {id_: entry.link for id_, entry in self.entries.items() if entry.link}

    def newest_first(self) -> list[str]:
        return newest_first(self.order, self.published)


@dataclass(frozen=True, slots=True)
class Adding:
    """What the first document of a feed means: `start` is from_now, last (with `count`) or all."""

    start: str
    count: int = 0


@dataclass(frozen=True, slots=True)
class Insert:
    id: str
    excluded: str = ""
    final: bool = False
    held: bool = False


@dataclass(slots=True)
class PollPlan:
    """Lists of primary keys (`insert`: of new rows; `rewrite` and `restart`: pk → id, with new content).

    `rekey` (pk → new id) is done first, and leaves an excluded row under the old id. `flicker` are the items
    in `restart` that come and go: their clock runs on. `set_aside` are items in collections that are
    withdrawn, `take_back` those that are there again. `calm` are items that had changed at the last reading
    and have not at this one; `drop` are held items to exclude; `forget` are rows of reposts to delete.
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
    # Facts besides the changes. How many items may still change and were seen as they had been:
    steady: int = field(default=0, compare=False)
    # New ids in a pushed document that the next reading has to judge.
    deferred: tuple[str, ...] = field(default=(), compare=False)
    # The ids of posts that stand in the document under another one.
    came_back: tuple[str, ...] = field(default=(), compare=False)
    # How many posts came under a new id, and how many of those not for the first time.
    reposts: int = field(default=0, compare=False)
    habitual: int = field(default=0, compare=False)
    # The document has posts, and none of them has an id that was known.
    all_unknown: bool = field(default=False, compare=False)
    # And nothing else shows that the posts are the feed's: it moved, or another site answers.
    stranger: bool = field(default=False, compare=False)
    # Something waits for an admin's word afterwards. `held_for` is why the new posts do, if not for a flood.
    holds: bool = field(default=False, compare=False)
    held_for: str = field(default="", compare=False)

    @property
    def restless(self) -> bool | None:
        """Whether every item that may still change had changed. None when none was seen."""
        return False if self.steady else True if self.rewrite else None
