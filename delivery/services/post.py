"""A post of a collection, copied out of the database."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from feeds.parsing.entry import Entry


@dataclass(frozen=True, slots=True)
class Post:
    """An item as it stands now, with the assignment that holds it (0 for a sample)."""

    item_id: int
    assignment_id: int
    entry: Entry
    feed_url: str = ""

    @property
    def announce(self) -> str:
        return self.entry.announce

    def with_entry(self, entry: Entry) -> "Post":
        return replace(self, entry=entry)


def without(posts: Sequence[Post], others: Sequence[Post]) -> tuple[Post, ...]:
    """Those posts that are not among the others, whatever became of those since."""
    # (Of a sample none has an item.)
    kept = {(post.item_id, post.entry.guid) for post in others}
    return tuple(post for post in posts if (post.item_id, post.entry.guid) not in kept)
