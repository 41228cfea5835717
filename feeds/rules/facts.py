from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from feeds.parsing.likeness import UNLIKE, Likeness
from feeds.rules.age import believed

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


@dataclass(frozen=True, slots=True)
class KnownItem:
    """`id`: digest of the guid."""

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
class Adding:
    """`start`: from_now, last (with `count`), all."""

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
