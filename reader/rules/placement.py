"""Whether a post enters a channel, and whether it is shown there."""

from collections.abc import Collection
from enum import IntEnum


class Hidden(IntEnum):
    SEEN = 0
    MUTED = 1
    REMOVED = 2
    DUPLICATE = 3
    WITHDRAWN = 4
    FILTERED = 5


def placement(
    *, is_known: bool, is_withdrawn: bool, mutes: Collection[bool], has_copy: bool, is_filtered: bool
) -> Hidden | None:
    """Return None for a post that stays out.

    `is_known` and `has_copy`: the channel has, or had, this post, or the same of another feed. `mutes` are of
    the author; a true one is a block.
    """
    if is_known or is_withdrawn or True in mutes:
        return None
    if mutes:
        return Hidden.MUTED
    if has_copy:
        return Hidden.DUPLICATE
    return Hidden.FILTERED if is_filtered else Hidden.SEEN
