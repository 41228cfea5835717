"""Which bridges change what they posted, for how long, and under which keys it stands in the ledger."""

from collections.abc import Mapping
from datetime import timedelta

EDIT_CORRECTED, DELETE_WITHDRAWN = "edit_corrected", "delete_withdrawn"
# From its posting, a post is looked after for so long.
WINDOW = timedelta(hours=24)


def wishes(options: Mapping[str, str], arrangement: str) -> frozenset[str]:
    """What a bridge wants done: EDIT_CORRECTED, DELETE_WITHDRAWN, both or neither.

    A digest is not changed: it says what was new when it went out.
    """
    if arrangement != "each":
        return frozenset()
    return frozenset(name for name in (EDIT_CORRECTED, DELETE_WITHDRAWN) if options.get(name))


def change_key(post: int, number: int) -> str:
    """The key in the ledger of the edit of that number, of the post that a delivery sent; of its deletion
    the number is 1."""
    return f"{post}-{number}"


def changed_post(key: str) -> tuple[int, int]:
    """The delivery and the number of a `change_key`; zeros for another key."""
    post, _, number = key.partition("-")
    return (int(post), int(number)) if post.isdecimal() and number.isdecimal() else (0, 0)
