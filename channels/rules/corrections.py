"""Corrections of bridges' posts."""

from collections.abc import Mapping
from datetime import timedelta

EDIT_CORRECTED, DELETE_WITHDRAWN = "edit_corrected", "delete_withdrawn"


# Time after posting.
WINDOW = timedelta(hours=24)


def wishes(options: Mapping[str, str], arrangement: str) -> frozenset[str]:
    """Digests are never changed."""
    if arrangement != "each":
        return frozenset()
    return frozenset(name for name in (EDIT_CORRECTED, DELETE_WITHDRAWN) if options.get(name))


def change_key(post: int, number: int) -> str:
    """A deletion has number 1."""
    return f"{post}-{number}"


def changed_post(key: str) -> tuple[int, int]:
    """Return zeros for other keys."""
    post, _, number = key.partition("-")
    return (int(post), int(number)) if post.isdecimal() and number.isdecimal() else (0, 0)
