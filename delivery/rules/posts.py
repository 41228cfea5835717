"""A post of a collection, and which posts its publisher wishes to be sent (iffy:hint-announce)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from feeds.parsing.entry import Entry

ALWAYS, NEVER, PIGGYBACK = "always", "never", "piggyback"
WHY_LEFT_OUT = {
    NEVER: "It was left out: its publisher asks that it is not announced (iffy:hint-announce says never).",
    PIGGYBACK: (
        "It was left out: its publisher asks that it is announced only together with other posts"
        " (iffy:hint-announce says piggyback), and there were none."
    ),
}


class Hinted(Protocol):
    """A post; `announce` is "" (always), "never" or "piggyback"."""

    @property
    def announce(self) -> str: ...


T = TypeVar("T", bound=Hinted)


def announced(posts: Sequence[T]) -> list[T]:
    """The posts that are sent, in order: without the nevers; and if all others only piggyback, none."""
    wanted = [post for post in posts if post.announce != NEVER]
    return wanted if any(post.announce != PIGGYBACK for post in wanted) else []


def override(answer: object, announce: str) -> str:
    """The policy of a post whose publisher says `announce`, after the newsletter's own code was asked.

    Its answer is None (as the publisher says), "always", "never" or "piggyback"; else ValueError is raised.
    """
    if answer is None:
        return announce
    if not isinstance(answer, str) or answer.lower() not in (ALWAYS, NEVER, PIGGYBACK):
        raise ValueError(f"it must be {ALWAYS}, {NEVER}, {PIGGYBACK} or None")
    return "" if answer.lower() == ALWAYS else answer.lower()


@dataclass(frozen=True, slots=True)
class Post:
    """An item as it stands now, with the assignment that holds it (0 for a sample).

    `content_hash` is the item's: of the text in its feed.
    """

    item_id: int
    assignment_id: int
    entry: Entry
    feed_url: str = ""
    content_hash: str = ""

    @property
    def announce(self) -> str:
        return self.entry.announce

    def with_entry(self, entry: Entry) -> "Post":
        return replace(self, entry=entry)


def without(posts: Sequence[Post], others: Sequence[Post]) -> tuple[Post, ...]:
    """The posts that are not among the others, even where those were changed since."""
    # By the entry's id, too: the posts of a sample have no item.
    kept = {(post.item_id, post.entry.guid) for post in others}
    return tuple(post for post in posts if (post.item_id, post.entry.guid) not in kept)
