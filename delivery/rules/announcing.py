"""iffy:hint-announce: which posts of a complete collection are sent, as their publisher wishes."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

NEVER, PIGGYBACK = "never", "piggyback"
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
