"""Which bridges change their posts, for how long, and their keys in the ledger."""

from collections.abc import Mapping
from datetime import timedelta

EDIT_CORRECTED, DELETE_WITHDRAWN = "edit_corrected", "delete_withdrawn"
# Time after posting.
WINDOW = timedelta(hours=24)


def wishes(options: Mapping[str, str], arrangement: str) -> frozenset[str]:
    """Return EDIT_CORRECTED, DELETE_WITHDRAWN, both or neither. Digests are never changed."""
    if arrangement != "each":
        return frozenset()
    return frozenset(name for name in (EDIT_CORRECTED, DELETE_WITHDRAWN) if options.get(name))


def change_key(post: int, number: int) -> str:
    """Return the ledger key of a post's edit with this number, or of its deletion (number 1)."""
    return f"{post}-{number}"


def changed_post(key: str) -> tuple[int, int]:
    """Return delivery and number of a `change_key`, or zeros."""
    post, _, number = key.partition("-")
    return (int(post), int(number)) if post.isdecimal() and number.isdecimal() else (0, 0)
