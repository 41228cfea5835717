"""Posts of a collection, and which their publisher wants announced (iffy:hint-announce)."""

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
    """`announce` is "" (always), "never" or "piggyback"."""

    @property
    def announce(self) -> str: ...


T = TypeVar("T", bound=Hinted)


def announced(posts: Sequence[T]) -> list[T]:
    """Return posts to send: without "never", and nothing if all others piggyback."""
    wanted = [post for post in posts if post.announce != NEVER]
    return wanted if any(post.announce != PIGGYBACK for post in wanted) else []


def override(answer: object, announce: str) -> str:
    """Return the policy after the newsletter's code answered. Raises ValueError for invalid answers."""
    if answer is None:
        return announce
    if not isinstance(answer, str) or answer.lower() not in (ALWAYS, NEVER, PIGGYBACK):
        raise ValueError(f"it must be {ALWAYS}, {NEVER}, {PIGGYBACK} or None")
    return "" if answer.lower() == ALWAYS else answer.lower()


@dataclass(frozen=True, slots=True)
class Post:
    """An item with its assignment (0 in a sample). `content_hash` is of the feed's text."""

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
    # By the entry's id, too, as posts of a sample have no item.
    kept = {(post.item_id, post.entry.guid) for post in others}
    return tuple(post for post in posts if (post.item_id, post.entry.guid) not in kept)
