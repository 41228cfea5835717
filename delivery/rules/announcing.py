"""iffy:hint-announce: which posts of a complete collection are sent, as their publisher wishes."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

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
